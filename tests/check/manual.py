#
# manual.py - the manual pages of <trace.h>, and of what is added to it, agree with the headers
#
# Each function has one page, with its prototype, its errors and an example; trace.h(7) has every type, constant and
# limit. The errors are also those of docs/choices.md and tests/fault/each_call.h. manual_examples.py runs the programs
# in the pages.
#
# SPDX-License-Identifier: MIT

import errno
import re

from check import ROOT, files, finish, spoiled

FOLDERS = ['include', 'man', 'docs', 'src', 'tests/fault']
SECTIONS = ['NAME', 'LIBRARY', 'SYNOPSIS', 'DESCRIPTION', 'IMPLEMENTATION NOTES', 'RETURN VALUES', 'EXAMPLES',
            'ERRORS', 'SEE ALSO', 'STANDARDS']
# Structures with names like functions, and internal macros of the header.
OTHER_NAMES = {'posix_trace_event_info', 'posix_trace_status_info', 'posixtrace_around', 'posixtrace_event',
               'posixtrace_format', 'posixtrace_typed'}
KIND = r'int|void|size_t|trace_event_id_t|const char \*|const struct posixtrace_log_\w+ \*'
PRIVATE = re.compile(r'__POSIX_TRACE_(H|RESTRICT|LEADING)$')


def spaced(text):
    """Returns a declaration with normalised spaces, for comparison."""
    return re.sub(r'\s*([(),*])\s*', r'\1', re.sub(r'\s+', ' ', text)).strip()


def error_names(text):
    return {name for name in re.findall(r'\bE[A-Z0-9]+\b', text) if name in errno.errorcode.values()} | \
        ({'others'} if re.search(r'\band others\b', text) else set())


class Header:
    """Functions with their prototypes, and the errors in their comments; types, members and constants."""

    def __init__(self, folder):
        text = (folder / 'trace.h').read_text()
        # The inline trace point follows the last declaration.
        declarations = text.split('/* -- The inline trace point')[0] + (folder / 'posixtrace' / 'trace.h').read_text()
        log = (folder / 'posixtrace' / 'log.h').read_text()
        self.others = OTHER_NAMES | set(re.findall(r'struct (posixtrace_log\w*)', log))
        declarations += log
        self.prototype, self.errors = {}, {}
        section, here = set(), set()
        for comment, kind, name, arguments in re.findall(
                rf'/\*(.*?)\*/|^(?:static inline )?({KIND}) ?(posix_?trace_\w+)\((.*?)\)(?:;|\n\{{)',
                declarations, re.S | re.M):
            if name:
                plain = arguments.replace('__POSIX_TRACE_RESTRICT', 'restrict').replace('__', '')
                self.prototype[name] = spaced(f'{kind} {name}({plain})')
                self.errors[name] = section | here
                continue
            here, comment = set(), re.sub(r'\s*\n \*', '', comment)
            if comment.startswith(' -- '):
                section = set()
            elif 'Every function here returns' in comment:
                section = error_names(comment)
            else:
                here = error_names(comment)
                for other in re.findall(r'The errors of (\w+)\(\)', comment):
                    here = here | self.errors[other]
        code = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
        constant = re.compile(r'^#\s*define (_?(?:POSIX_)?TRACE\w*|__POSIX_TRACE_\w+)[ \t]+(\S+)', re.M)
        self.value = {name: value for name, value in constant.findall(code)
                      if not PRIVATE.match(name)}
        self.types = set(re.findall(r'^(?:typedef .*|\} )(trace_\w+_t);', code,
                                    re.M)) | set(re.findall(r'^struct (posix_\w+) \{', code, re.M))
        self.members = set(re.findall(r'^\t.*?\b(_*posix_\w+);', code.split('extern const struct')[0], re.M))


class Page:
    """A page in mdoc, by its sections."""

    def __init__(self, path):
        self.path, self.text = path, path.read_text()
        self.sections, self.body = [], {}
        for part in re.split(r'^\.Sh ', self.text, flags=re.M)[1:]:
            title, _, body = part.partition('\n')
            self.sections.append(title)
            self.body[title] = body
        self.names = re.findall(r'^\.Nm (\S+)', self.body.get('NAME', ''), re.M)
        self.prototype = self.prototypes()
        self.errors = self.errors_by_function()

    def prototypes(self):
        found, kind, name, arguments = {}, '', '', []
        for line in self.body.get('SYNOPSIS', '').splitlines():
            macro, _, rest = line.partition(' ')
            words = re.findall(r'"(.*?)"', rest)
            if macro == '.Ft':
                kind = rest
            elif macro == '.Fn':
                found[rest.split()[0]] = spaced(f'{kind} {rest.split()[0]}({", ".join(words)})')
            elif macro == '.Fo':
                name, arguments = rest, []
            elif macro == '.Fa':
                arguments += words
            elif macro == '.Fc':
                found[name] = spaced(f'{kind} {name}({", ".join(arguments)})')
        return found

    def errors_by_function(self):
        """Assigns each list of errors to the functions in the lines before it, or to all functions of the page."""
        found, whose, inside = {name: set() for name in self.prototype}, [], False
        for line in self.body.get('ERRORS', '').splitlines():
            if line.startswith('.Bl'):
                inside = True
            elif line.startswith('.El'):
                inside, whose = False, []
            elif line.startswith('.Fn ') and not inside:
                whose.append(line.split()[1])
            elif line.startswith('.It '):
                name = re.fullmatch(r'\.It Bq Er (E\w+)', line)
                for function in whose or found:
                    found.setdefault(function, set()).add(name[1] if name else 'others' if line == '.It other errors'
                                                          else line)
        return found


def listed(names):
    return ', '.join(sorted(names)) or 'none'


def check_function_page(page, header):
    where = f'man/{page.path.name}'
    if page.sections != SECTIONS:
        yield f'{where}: its sections are not {", ".join(SECTIONS)}'
        return
    if page.names[0] != page.path.stem or page.names[1:] != sorted(page.names[1:]):
        yield f'{where}: NAME does not begin with the name of the file, or the other names are in disorder'
    if set(page.names) != set(page.prototype):
        yield f'{where}: other functions in NAME than in SYNOPSIS'
    if f'.Dt {page.path.stem.upper()} 3' not in page.text:
        yield f'{where}: no .Dt {page.path.stem.upper()} 3'
    for name, prototype in page.prototype.items():
        if name not in header.prototype:
            yield f'{where}: trace.h does not declare {name}()'
            continue
        if prototype != header.prototype[name]:
            yield f'{where}: {prototype}, but trace.h has {header.prototype[name]}'
        if page.errors[name] != header.errors[name]:
            yield f'{where}: errors of {name}(): {listed(page.errors[name])}; trace.h: {listed(header.errors[name])}'
    if 'int main(void)' not in page.body['EXAMPLES']:
        yield f'{where}: no program in EXAMPLES'
    if '.Xr trace.h 7' not in page.body['SEE ALSO']:
        yield f'{where}: no .Xr trace.h 7 in SEE ALSO'


def check_names(page, header, pages, manual_names):
    """Complains about a function, constant or page that does not exist."""
    where = f'man/{page.path.name}'
    events = {name.lower() for name in header.value if name.startswith('POSIX_TRACE_')}
    named = set(re.findall(r'\bposix_?trace_\w+', page.text))
    for name in sorted(named - set(header.prototype) - header.others - events):
        yield f'{where}: trace.h has no {name}'
    for name in sorted(set(re.findall(r'\b_*(?:POSIX_)?TRACE_[A-Z]\w*|\b_POSIX_TRACE\b',
                                      page.text)) - set(header.value)):
        if name not in ('__POSIX_TRACE_NO_INLINE',) and name.lower() not in {other.path.stem for other in pages}:
            yield f'{where}: trace.h has no {name}'
    for name, section in re.findall(r'(?:^\.|\b)Xr (\S+) (\d)', page.text, re.M):
        if name.startswith(('posix_trace', 'posixtrace', 'trace.h')) and (name, section) not in manual_names:
            yield f'{where}: there is no page {name}({section})'


def check_overview(root, page, header, pages):
    where = f'man/{page.path.name}'
    there = set(re.findall(r'[\w.]+', page.text))
    for name in sorted((header.types | header.members | set(header.value)) - there):
        yield f'{where}: does not name {name}'
    for name, least, value in re.findall(r'^\.It Dv (TRACE_\w+) Ta (\d+) Ta (\d+)', page.text, re.M):
        if header.value.get(name) != value or header.value.get(f'_POSIX_{name}') != least:
            yield f'{where}: {name} is {header.value.get(name)}, at least {header.value.get(f"_POSIX_{name}")}'
    if len(re.findall(r'^\.It Dv TRACE_\w+ Ta \d+ Ta \d+', page.text, re.M)) != 4:
        yield f'{where}: not four limits'
    for other in pages:
        if not any(f'.It Xr {name} 3' in page.text for name in other.names):
            yield f'{where}: does not list the page {other.path.stem}'
    for path in files(root, 'src', '.c', '.h'):
        if re.search(r'\b(secure_)?getenv\b|\benviron\b', path.read_text()):
            yield f'{where}: says that no environment variable is read, but {path.relative_to(root)} reads one'


def check_elsewhere(root, errors):
    """Compares the pages with the errors that each_call.h accepts, and with the table in docs/choices.md."""
    for name, words in re.findall(r'FUNCTION\((\w+),([^)]*)\)', (root / 'tests/fault/each_call.h').read_text()):
        wanted = error_names(words) | ({'others'} if 'EACH_CALL_ANY' in words else set())
        for missing in sorted(wanted - errors.get(f'posix_trace_{name}', set())):
            yield f'posix_trace_{name}(): tests/fault/each_call.h knows of {missing}, its page does not'
    table = (root / 'docs/choices.md').read_text().split('## Errors of posix_trace_create()')[1].split('\n## ')[0]
    wanted = {name for row in table.splitlines() if row.startswith('| E') for name in error_names(row.split('|')[1])}
    both = errors.get('posix_trace_create', set()) | errors.get('posix_trace_create_withlog', set())
    if wanted != both - {'others'}:
        yield ('docs/choices.md has other errors of posix_trace_create() and _withlog() than the page: '
               f'{listed(wanted ^ (both - {"others"}))}')


def aliases(root):
    """Returns the links that man/meson.build installs for each page."""
    text = (root / 'man' / 'meson.build').read_text()
    return {page: re.findall(r"'(\w+)'", names) for page, names in re.findall(r"'(\w+)': \[(.*?)\]", text, re.S)}


def check(root):
    header = Header(root / 'include')
    pages = [Page(path) for path in files(root, 'man', '.3')]
    overview = Page(root / 'man' / 'trace.h.7')
    known = {(path.stem, path.suffix[1:]) for path in files(root, 'man', '.1', '.7')}
    known |= {(name, '3') for page in pages for name in page.names}
    for page in pages:
        yield from check_function_page(page, header)
    for page in [*pages, overview]:
        yield from check_names(page, header, pages, known)
    yield from check_overview(root, overview, header, pages)
    for name in header.prototype:
        count = sum(name in page.names for page in pages)
        if count != 1:
            yield f'{name}() has {count} manual pages'
    yield from check_elsewhere(root, {name: found for page in pages for name, found in page.errors.items()})
    installed = aliases(root)
    for page in pages:
        if sorted(installed.pop(page.path.stem, ['none'])) != sorted(page.names[1:]):
            yield f'man/meson.build: the other names of {page.path.stem} are {listed(page.names[1:])}'
    for name in installed:
        yield f'man/meson.build: there is no page {name}.3'


def all_problems():
    yield from check(ROOT)
    yield from spoiled(
        check, FOLDERS,
        ('man/posix_trace_start.3', '.Ft int\n.Fn posix_trace_stop', '.Ft void\n.Fn posix_trace_stop'),
        ('man/posix_trace_open.3', None, '.Sh NAME\n'),
        ('man/posix_trace_close.3', '.It Bq Er EMFILE', '.It Bq Er ENFILE'),
        ('man/posix_trace_close.3', 'fail if:\n.Bl -tag -width Er\n.It Bq Er EINVAL\n',
         'fail if:\n.Bl -tag -width Er\n'),
        ('man/posix_trace_create.3', '.It other errors\nThe system reports the error for the write.\n', ''),
        ('man/posixtrace_log_open.3', '.It Bq Er EBUSY', '.It Bq Er EAGAIN'),
        ('include/posixtrace/log.h', '__path, struct', '__name, struct'),
        ('man/posix_trace_event.3', 'int main(void)', 'int main()'),
        ('man/posix_trace_event.3', '.Xr posix_trace_create 3', '.Xr posix_trace_make 3'),
        ('man/posix_trace_event.3', '.Dv TRACE_EVENT_NAME_MAX', '.Dv TRACE_EVENT_MAX'),
        ('man/trace.h.7', 'Ta 8 Ta 1024', 'Ta 8 Ta 2048'),
        ('man/trace.h.7', '.Dv POSIX_TRACE_APPEND\n', ''),
        ('man/trace.h.7', '.It Xr posix_trace_clear 3', '.It posix_trace_clear'),
        ('man/meson.build', "'posix_trace_stop'", "'posix_trace_halt'"),
        ('include/trace.h', 'EMFILE no descriptor is left', 'EBUSY no descriptor is left'),
        ('include/trace.h', 'int posix_trace_rewind(trace_id_t __trid);', 'int posix_trace_rewind(trace_id_t __id);'),
        ('include/trace.h', 'int posix_trace_start(', 'int posix_trace_more(int __a);\nint posix_trace_start('),
        ('include/trace.h', '#define POSIX_TRACE_RUNNING ',
         '#define POSIX_TRACE_WALKING 2\n#define POSIX_TRACE_RUNNING '),
        ('docs/choices.md', '| ENOENT | there is no /dev/shm |', '| ENOTDIR | there is no /dev/shm |'),
        ('tests/fault/each_call.h', 'FUNCTION(start, 0)', 'FUNCTION(start, ENOMEM)'),
        ('src/host/file.c', None, 'getenv("HOME");\n'))


finish(all_problems())
