# pydevd answers `source` with a listing of byte code where it has no source: for <stdin>, and for Ray's _raylet.pyx. No client
# can tell it from the source, so here such a request fails.
from _pydevd_bundle import pydevd_api
from _pydevd_bundle.pydevd_comm_constants import CMD_RETURN
from _pydevd_bundle.pydevd_net_command import NetCommand
from _pydevd_bundle.pydevd_process_net_command_json import PyDevJsonCommandProcessor
pydevd_api.code_to_bytecode_representation = lambda *_, **__: ''
handle = PyDevJsonCommandProcessor.on_source_request
def on_source_request(self, py_db, request):
    command = handle(self, py_db, request)
    response = command.as_dict
    if not response.get('success') or response['body'].get('content'):
        return command
    return NetCommand(CMD_RETURN, 0, dict(response, success=False, message='the worker has no source of this'), is_json=True)
PyDevJsonCommandProcessor.on_source_request = on_source_request
