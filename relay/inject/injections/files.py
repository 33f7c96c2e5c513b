# pydevd takes a breakpoint's path as it is, reports it verified if there is such a file, and never stops if the process has
# the code under another name: Ray's copy of a working_dir, or a directory behind a symbolic link. Here such a path is that of
# the code, as the process has loaded or will load it. pydevd also drops all breakpoints of a file when those of one of its
# names are set anew: the breakpoints of the others are set again.
import filecmp, os, re, sys
import pydevd, pydevd_file_utils
from _pydevd_bundle.pydevd_api import PyDevdAPI
COPIES = re.compile('.*/runtime_resources/(?:working_dir|py_modules)_files/[^/]+')
def loaded_files():
    files = {vars(one).get('__file__') for one in list(sys.modules.values()) if hasattr(one, '__dict__')}
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            files.add(frame.f_code.co_filename)
            frame = frame.f_back
    return {one if one[:1] == '/' else os.path.abspath(one) for one in files if isinstance(one, str) and one[:1] != '<'}
def is_same(one, other):
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
def as_loaded(path, files):
    """A loaded file that is the same: the link, or what it links to, may have another name."""
    names = {os.path.basename(path), os.path.basename(os.path.realpath(path))}
    return next((one for one in sorted(files) if os.path.basename(one) in names and is_same(one, path)), None)
def as_imported(path):
    """The name that an import would give the file: a directory of sys.path, and the rest."""
    directories = [os.path.abspath(one) for one in sys.path if isinstance(one, str)]
    parent, rest = os.path.split(path)
    while len(parent) > 1:
        if parent in directories:
            return path
        for directory in directories:
            if is_same(directory, parent):
                return os.path.join(directory, rest)
        parent, name = os.path.split(parent)
        rest = os.path.join(name, rest)
    return None
def as_copied(path):
    """Ray's copy of the file. A file of this machine that has another content is not the copy's original."""
    roots = {found.group() for found in map(COPIES.match, [os.getcwd(), *map(str, sys.path)]) if found}
    parts = path.strip('/').split('/')
    for at in range(len(parts)):
        for root in sorted(roots):
            copy = os.path.join(root, *parts[at:])
            if os.path.isfile(copy) and (not os.path.exists(path) or filecmp.cmp(path, copy, shallow=False)):
                return copy
    return None
names = {}
def find_name(path):
    files, plain = loaded_files(), os.path.abspath(path)
    if plain in files or COPIES.match(plain):
        return plain
    found = as_loaded(plain, files) if os.path.exists(plain) else None
    return found or as_copied(plain) or os.path.exists(plain) and as_imported(plain) or path
def name_of(path):
    """The name under which this process has the file, or has it once it imports it."""
    count, name = names.get(path, (None, path))
    if count == len(sys.modules) or not os.path.isabs(path):
        return name
    try:
        name = find_name(path)
    except Exception:
        return path
    names[path] = len(sys.modules), name
    return name
to_server = PyDevdAPI.filename_to_server
def filename_to_server(self, filename):
    return name_of(to_server(self, filename))
remove = PyDevdAPI.remove_all_breakpoints
def remove_all_breakpoints(self, py_db, received):
    if received == '*':
        return remove(self, py_db, received)
    name, known = pydevd_file_utils.normcase_from_client(received), list(py_db.api_received_breakpoints.items())
    files = {file for (given, _), (file, _) in known if given == name}
    others = [parameters for (given, _), (file, parameters) in known if given != name and file in files]
    remove(self, py_db, received)
    for parameters in others:
        self.add_breakpoint(py_db, *parameters, adjust_line=True)
PyDevdAPI.filename_to_server = filename_to_server
PyDevdAPI.remove_all_breakpoints = remove_all_breakpoints
pydevd._raydbg_name_of = name_of
