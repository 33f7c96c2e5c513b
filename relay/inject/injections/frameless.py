# debugpy up to 1.8.6 prints the value of an expression that has no frame, and answers with nothing. The relay and the console ask
# in this way for what the process knows, such as the size of a file: in a frame of the user's, an evaluation would leave its
# mark (snapshots.py). Here the answer to such a watch is its value.
import sys
from inspect import unwrap
from _pydevd_bundle import pydevd_api, pydevd_comm, pydevd_vars
evaluate = pydevd_api.internal_evaluate_expression_json
def own_frame():
    yield sys._getframe()
FRAME = next(own_frame())
def is_asked(given):
    if given.frameId is not None or given.context != 'watch':
        return False
    try:
        return bool(compile(given.expression.strip(), '<watch>', 'eval'))
    except (SyntaxError, ValueError):
        return False
def internal_evaluate_expression_json(py_db, request, thread_id):
    if not is_asked(request.arguments):
        return evaluate(py_db, request, thread_id)
    value = pydevd_vars.evaluate_expression(py_db, FRAME, request.arguments.expression, is_exec=False)
    if isinstance(value, pydevd_vars.ExceptionOnEvaluate):
        pydevd_comm._evaluate_response_return_exception(py_db, request, value.etype, value.result, value.tb)
    else:
        pydevd_comm._evaluate_response(py_db, request, result='' if value is None else '%s' % (value,))
if 'stdout' in unwrap(pydevd_vars.evaluate_expression).__code__.co_names:
    pydevd_api.internal_evaluate_expression_json = internal_evaluate_expression_json
