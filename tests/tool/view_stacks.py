#!/usr/bin/env python3
#
# view_stacks.py - the flame graphs of samples and of times off the processor in pages of posixtrace view
#
#     view_stacks.py POSIXTRACE STACKS_LOG SAMPLE_TARGET [TEST...]
#
# Exit status 77: there is no chromium, it does not start, or samples cannot be recorded here. What a page shows is
# compared with stat --profile and convert --to folded of the same log and range.
#
# SPDX-License-Identifier: MIT

import collections
import json
import os
import struct
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from chromium import Browser, Trouble
from made_log import Log

POSIXTRACE, STACKS_LOG, TARGET = (Path(path).resolve() for path in sys.argv[1:4])
ENVIRONMENT = {**os.environ, 'TZ': 'UTC0', 'LC_ALL': 'C.UTF-8'}
SHIFT = 8
# On a very busy machine; on an idle one they are a tenth of it.
FRAME_MS, LOAD_MS = 250, 30000
OPTION = {'on': [], 'off': ['--off-cpu']}


class Skipped(Exception):
    pass


def tool(*arguments):
    return subprocess.run([POSIXTRACE, *map(str, arguments)], capture_output=True, env=ENVIRONMENT, check=True,
                          text=True).stdout


def page_of(log, *options):
    tool('view', '-f', '-o', f'{log}.html', *options, log)
    return browser.open(f'{log}.html')


def close(page):
    complaints = [each for each in page.complaints() if 'willReadFrequently' not in each]
    assert complaints == [], complaints
    browser.call('Target.closeTarget', targetId=page.target)


def plain(text):
    return text.replace('\u2009', ' ')


def place(page, expression):
    """The middle of an element."""
    return page.value(f'(() => {{ const b = ({expression}).getBoundingClientRect(); '
                      'return [b.x + b.width / 2, b.y + b.height / 2]; })()')


# Of the functions in a range and, for each thread, of each different stack, as the page computes them.
FUNCTIONS = '''(kind, t0, t1, tid) => {
    const { trace, stackTree } = posixtrace, lanes = tid && new Set(trace.lanes.filter((lane) => lane.tid === tid));
    const { root, functions, stacks } = stackTree(trace, kind, lanes, t0, t1);
    return [stacks, root.total, root.ready,
        functions.map((f) => [f.name, f.file, f.kernel, f.self, f.total, f.ready])];
}'''
STACKS = '''(kind, t0, t1) => posixtrace.trace.lanes.flatMap((lane) => {
    const { root } = posixtrace.stackTree(posixtrace.trace, kind, new Set([lane]), t0, t1);
    const lines = [], waiting = [[root, lane.names[0]]];
    while (waiting.length) {
        const [node, text] = waiting.pop();
        let own = node.weight;
        for (const child of node.children.values()) {
            own -= child.weight;
            waiting.push([child, `${text};${child.name}${child.called.kernel && child.name[0] !== '[' ? '_[k]' : ''}`]);
        }
        if (kind === 'off')
            own = Math.floor((own + 500) / 1000);
        if (own)
            lines.push([text, own]);
    }
    return lines;
})'''


def options_of(t0, t1, end='--to'):
    return ['--from', f'{t0 / 1e9:.9f}', end, f'{t1 / 1e9:.9f}']


def folded(log, kind, t0, t1):
    """Returns [stack, weight] of each line."""
    done = subprocess.run([POSIXTRACE, 'convert', '--to', 'folded', '-o', '-', *OPTION[kind],
                           *(['-e', 'linux_sample'] if kind == 'on' else []), *options_of(t0, t1, '--until'), log],
                          capture_output=True, env=ENVIRONMENT, text=True, check=False)
    # There is nothing in this range.
    assert done.returncode == 0 or (done.returncode == 1 and not done.stdout and 'no ' in done.stderr), done
    out = done.stdout
    return [(stack, int(weight)) for stack, weight in (line.rsplit(' ', 1) for line in out.splitlines())]


def profiled(log, kind, *options):
    done = subprocess.run([POSIXTRACE, 'stat', '--profile', '--json', *OPTION[kind], *map(str, options), log],
                          capture_output=True, env=ENVIRONMENT, check=False)
    # There is nothing in this range.
    return json.loads(done.stdout) if done.returncode == 0 else {'stacks': 0, 'weight': 0, 'functions': []}


def rows(profile):
    return sorted([f['name'], f.get('image', ''), f['kernel'], f['self'], f['total'], f.get('ready', 0)]
                  for f in profile['functions'] if f['self'] or f['total'] or f.get('ready'))


def compare(page, log, kind, t0, t1, tids=(), renamed=False):
    """Returns the number of stacks. renamed: threads change their names, of which the page knows the latest."""
    told = profiled(log, kind, *options_of(t0, t1))
    stacks, total, ready, functions = page.value(f'({FUNCTIONS})({kind!r}, {t0}, {t1}, 0)')
    assert (stacks, total, ready) == (told['stacks'], told['weight'], told.get('ready', 0)), (kind, t0, t1, told)
    assert sorted(functions) == rows(told), (kind, t0, t1)
    for tid in tids:
        told = profiled(log, kind, '--tid', tid, *options_of(t0, t1))
        found = page.value(f'({FUNCTIONS})({kind!r}, {t0}, {t1}, {tid})')
        assert found[0] == told['stacks'] and sorted(found[3]) == rows(told), (kind, tid, t0, t1)
    lines, mine = collections.Counter(), collections.Counter()
    for stack, weight in folded(log, kind, t0, t1):
        lines[stack] += weight
    for stack, weight in page.value(f'({STACKS})({kind!r}, {t0}, {t1})'):
        mine[stack] += weight
    if renamed:
        lines, mine = (sum((collections.Counter({stack.split(';', 1)[1]: weight}) for stack, weight in each.items()),
                           collections.Counter()) for each in (lines, mine))
        # Each name's time was rounded to microseconds.
        if kind == 'off' and mine.keys() == lines.keys():
            mine = collections.Counter({stack: lines[stack] if abs(weight - lines[stack]) <= 1 else weight
                                        for stack, weight in mine.items()})
    assert mine == lines, (kind, t0, t1, list((mine - lines).items())[:3], list((lines - mine).items())[:3])
    return stacks


# -- Tests -----------------------------------------------------------------------------------------------------


def test_numbers():
    """Of any range, for all threads and for one, they are those of the other commands."""
    page = page_of('made.log')
    last = page.value('posixtrace.trace.last')
    assert compare(page, 'made.log', 'on', 0, last + 1, tids=(100, 200)) == 20000
    assert compare(page, 'made.log', 'off', 0, last + 1, tids=(101,)) == 5000
    for t0, t1 in ((last * 0.3, last * 0.31), (last * 0.5, last * 0.9), (last * 0.5, last * 0.5 + 1_000_000)):
        assert compare(page, 'made.log', 'on', round(t0), round(t1), tids=(201,)) > 0
        compare(page, 'made.log', 'off', round(t0), round(t1))
        for kind, name in (('on', 'linux_sample'), ('off', 'linux_off_stack')):
            reported = tool('report', '-e', name, *options_of(round(t0), round(t1)), 'made.log')
            told = profiled('made.log', kind, *options_of(round(t0), round(t1)))['stacks']
            assert sum(not line.startswith('#') for line in reported.splitlines()) == told, (kind, t0, t1)
    # A range ends before the event at its end.
    time = page.value('posixtrace.trace.stacks.on.time[77]')
    assert compare(page, 'made.log', 'on', time, time + 1) == 1
    assert compare(page, 'made.log', 'on', time + 1, time + 2) == 0
    assert compare(page, 'made.log', 'on', time - 1, time) == 0
    # Each different stack is there once: the samples have its number.
    nodes, events = page.value('[posixtrace.trace.stacks.nodes.recorded, posixtrace.trace.count]')
    assert nodes < 100_000 and events > 25_000
    assert page.value('posixtrace.trace.tables.bytes') < 25 * 25_000
    close(page)


def test_selected():
    """Pages with a part of the events have the stacks of that part."""
    page = page_of('made.log', '-e', 'linux_off_stack')
    assert page.value("document.getElementById('tab-samples').hidden")
    assert not page.value("document.getElementById('tab-waits').hidden")
    compare(page, 'made.log', 'off', 0, page.value('posixtrace.trace.last') + 1)
    close(page)
    page = page_of('made.log', '--no-symbols')
    assert page.value("document.getElementById('tab-samples').hidden && !posixtrace.trace.stacks")
    close(page)


def test_recorded():
    """The same of a log that was recorded."""
    done = subprocess.run([POSIXTRACE, 'record', '-q', '--sample', '999', '--off-cpu', '-o', 'real.log', '--', TARGET,
                           'wait'], capture_output=True, env=ENVIRONMENT, text=True, check=False)
    if not Path('real.log').exists() or 'no samples' in done.stderr or '--off-cpu:' in done.stderr:
        raise Skipped(f'samples cannot be recorded here: {done.stderr.strip()}')
    page = page_of('real.log')
    last = page.value('posixtrace.trace.last')
    for kind in 'on', 'off':
        assert compare(page, 'real.log', kind, 0, last + 1, renamed=True) > 0
        compare(page, 'real.log', kind, round(last * 0.2), round(last * 0.6), renamed=True)
    # Without linux_off, the strips of states show the times of linux_off_stack.
    assert page.value('posixtrace.trace.lanes.some((lane) => lane.states && lane.states.count > 0)')
    names = page.value("posixtrace.trace.stacks.nodes.functions.map(({ name }) => name)")
    assert 'three_quarters' in names and 'waits_here' in names, names
    close(page)


def test_wrong():
    """Stacks that are cut or impossible are not counted, and do no harm; nor do types of a program with these names."""
    log, stack = Log(), 'cut:bool,kernel:u16,count:u16,stack:a64[count]}'
    log.process(100, '/usr/bin/wrong')
    log.declare('linux_sample', '{packed;cpu:u32,' + stack)
    log.declare('linux_off_stack', '{packed;took:u64/ns,ready:u64/ns,state:u8<preempted,blocked>,' + stack)
    log.declare('linux_kernel_function', '{packed;address:x64,size:u64,name:z}')
    log.event(1, 'linux_kernel_function', data=struct.pack('<QQ', 2**64 - 4096, 4096) + b'</script><b>&"\0')
    whole = struct.pack('<IBHHQQ', 1, 0, 1, 2, 2**64 - 4000, 4711)
    off = struct.pack('<QQB', 2**64 - 1, 2**64 - 1, 255) + whole[4:]
    for i in range(len(whole) + 1):
        log.event(10 + i, 'linux_sample', data=whole[:i])
    for i in range(len(off) + 1):
        log.event(50 + i, 'linux_off_stack', data=off[:i])
    log.event(100, 'linux_sample', data=struct.pack('<IBHHQ', 1, 0, 2, 1, 4711))
    log.event(101, 'linux_sample', data=struct.pack('<IBHH', 1, 0, 0, 65535))
    log.event(102, 'linux_sample', data=struct.pack('<IBHH', 1, 1, 0, 0))
    log.segment()
    Path('wrong.log').write_bytes(log.closed())
    page = page_of('wrong.log')
    # One whole sample, and one without any function.
    assert compare(page, 'wrong.log', 'on', 0, 1000) == 2
    told = profiled('wrong.log', 'off')
    stacks, total, ready, _ = page.value(f'({FUNCTIONS})("off", 0, 1000, 0)')
    assert (stacks, total) == (told['stacks'], told['weight']) == (1, 0) and abs(ready - 2**64) < 2**20, (ready, told)
    for tab in 'samples', 'waits':
        page.value(f'document.getElementById("tab-{tab}").click()')
        page.frame()
        assert any(name.startswith('</script>') for name, _, _ in flames(page, f'panel-{tab}'))
    for event in range(page.value('posixtrace.trace.count')):
        page.value(f'posixtrace.state.select({event})')
    page.frame()
    close(page)
    log = Log()
    log.event(1, 'linux_sample{packed;cpu:u32,cut:bool,stack:u32}', data=struct.pack('<IBI', 1, 0, 9))
    log.segment()
    Path('own.log').write_bytes(log.closed())
    page = page_of('own.log')
    assert page.value('posixtrace.trace.stacks') is None
    close(page)


def flames(page, panel):
    """Returns [name, classes, label] of the bars."""
    return page.value(f'[...document.querySelectorAll("#{panel} .flame")].map((bar) => '
                      '[bar.textContent, bar.className, bar.getAttribute("aria-label")])')


def focused(page):
    return page.value('document.activeElement.textContent')


def test_use():
    """A range, a thread, a search; mouse and keys."""
    page = page_of('made.log')
    last = page.value('posixtrace.trace.last')
    t0, t1 = round(last * 0.25), round(last * 0.5)
    page.key('6')
    page.wait("document.querySelectorAll('#panel-samples .flame').length > 20")
    page.value(f'posixtrace.state.setRange({{ t0: {t0}, t1: {t1} }})')
    page.frame()
    page.frame()
    told = profiled('made.log', 'on', *options_of(t0, t1))
    most = max(told['functions'], key=lambda f: f['self'])
    cells = '[...document.querySelectorAll("#panel-samples .functions tbody tr:first-child td")].map((each) => ' \
        'each.textContent)'
    assert plain(page.value(f'({cells}).join("|")')) == \
        f'{most["self"]:,}|{100 * most["self"] / told["weight"]:.1f} %|{most["total"]:,}|' \
        f'{100 * most["total"] / told["weight"]:.1f} %|{most["name"]}'.replace(',', ' '), (page.value(cells), most)
    assert f'{told["weight"]:,} samples'.replace(',', ' ') in plain(page.value(
        'document.querySelector("#panel-samples .hint").textContent'))

    # Functions of the kernel look different, and say so.
    bars = flames(page, 'panel-samples')
    kernel = [bar for bar in bars if 'kernel' in bar[1].split()]
    assert kernel, bars[:3]
    assert all(name.startswith('do_') and label.endswith(', kernel') for name, _, label in kernel), kernel[:3]
    assert all(not name.startswith('do_') for name, classes, _ in bars if 'kernel' not in classes.split())

    # The tip has a count and a share.
    first = 'document.querySelector("#panel-samples .flame")'
    name = page.value(f'{first}.textContent')
    lines = folded('made.log', 'on', t0, t1)
    count = sum(weight for stack, weight in lines if stack.split(';')[1] == name)
    page.mouse('mouseMoved', *place(page, first))
    page.frame()
    tip = plain(page.value('document.getElementById("tip").innerText'))
    share = 100 * count / told['weight']
    assert name in tip and 'total ' + f'{count:,}'.replace(',', ' ') + f' samples, {share:.1f} %' in tip, (tip, count)

    # A click shows one function; the others above it are as wide.
    page.click(*place(page, first))
    assert page.value(f'{first}.style.width') == '100%' and focused(page) == name
    page.key('ArrowDown')
    below = focused(page)
    page.key('Enter')
    assert page.value('[...document.querySelectorAll("#panel-samples .flame")].slice(0, 2).map((bar) => '
                      '[bar.textContent, bar.style.width])') == [[name, '100%'], [below, '100%']]
    page.key('ArrowUp')
    assert focused(page) == name
    page.key('Escape')
    assert page.value(f'{first}.style.width') != '100%' and focused(page)
    # It is not the key that lets go of the range.
    assert page.value('Boolean(posixtrace.state.range)')
    page.key('ArrowRight')
    page.key('ArrowLeft')
    assert focused(page) == name

    # A search, with the share of what is found.
    page.value('document.querySelector("#panel-samples input").focus()')
    page.type('comp')
    page.frame()
    bars = flames(page, 'panel-samples')
    assert {('comp' in name, 'found' in classes.split(), 'other' in classes.split()) for name, classes, _ in bars} == \
        {(True, True, False), (False, False, True)}
    found = sum(weight for stack, weight in lines if 'comp' in stack)
    assert page.value('document.querySelector("#panel-samples .said").textContent') == \
        f'{100 * found / told["weight"]:.1f} % found'

    # One thread, and the other graph.
    page.key('Escape')
    page.value('''(() => { const list = document.querySelector('#panel-samples select');
        list.value = [...list.options].find((each) => each.textContent.includes('worker 101')).value;
        list.dispatchEvent(new Event('change')); })()''')
    page.frame()
    own = profiled('made.log', 'on', '--tid', '101', *options_of(t0, t1))
    assert f'{own["weight"]:,} samples'.replace(',', ' ') in plain(page.value(
        'document.querySelector("#panel-samples .hint").textContent'))
    page.value('document.getElementById("tab-waits").click()')
    page.frame()
    assert any('step' in classes.split() and name == '[sleeping]' for name, classes, _ in flames(page, 'panel-waits'))
    # The time ready to run can be left out.
    hint = 'document.querySelector("#panel-waits .hint").textContent'
    ready = [name for name, _, _ in flames(page, 'panel-waits') if name in ('[preempted]', '[new]', '[ready]')]
    assert ready and 'ready to run' in page.value(hint)
    page.value('document.querySelector("#panel-waits input[type=checkbox]").click()')
    page.frame()
    assert not {name for name, _, _ in flames(page, 'panel-waits')} & set(ready)
    assert 'blocked' in page.value(hint) and 'ready to run' not in page.value(hint)
    close(page)


def test_lanes():
    """The strip of samples, the table of events, and the search show the functions."""
    page = page_of('made.log')
    at = page.value('''(() => { const { trace, state, timeline } = posixtrace;
        const lane = trace.lanes.find((each) => each.tid === 101);
        const time = lane.samples.times[500], row = timeline.layout().rows.find((each) => each.lane === lane);
        state.show(time - 2e6, time + 2e6);
        const box = document.getElementById('rows').getBoundingClientRect(), states = lane.states ? 11 : 0;
        return [box.x + box.width / 2, box.y + row.top + row.height - 4 - states - 5 -
            document.getElementById('scroller').scrollTop, lane.samples.events[500]]; })()''')
    page.frame()
    page.mouse('mouseMoved', *at[:2])
    stack = page.value(f'posixtrace.trace.stacks.nodes.text(posixtrace.trace.stacks.on.node['
                       f'posixtrace.trace.stacks.on.event.indexOf({at[2]})])')
    assert stack[:60] in page.value('document.getElementById("tip").innerText'), stack
    page.click(*at[:2])
    assert page.value('posixtrace.state.selected') == at[2]
    assert stack[:60] in page.value('document.getElementById("details").innerText')
    # A state tells in which functions the thread waited.
    at = page.value('''(() => { const { trace, state, timeline } = posixtrace;
        const lane = trace.lanes.find((each) => each.tid === 101), row = timeline.layout().rows.find((each) =>
            each.lane === lane), index = lane.states.count >> 1, { start, end, event } = lane.states;
        state.show(start[index] - 1000, end[index] + 1000);
        const box = document.getElementById('rows').getBoundingClientRect();
        return [box.x + box.width / 2, box.y + row.top + row.height - 4 - 4 -
            document.getElementById('scroller').scrollTop, event[index]]; })()''')
    page.frame()
    page.mouse('mouseMoved', *at[:2])
    waits = page.value(f'''(() => {{ const {{ nodes, off }} = posixtrace.trace.stacks, i = off.event.indexOf({at[2]});
        return nodes.text(nodes.ofProgram[off.node[i]]); }})()''')
    tip = page.value('document.getElementById("tip").innerText')
    assert waits[:60] in tip and ('Blocked' in tip or 'Waiting for a processor' in tip), (waits, tip)
    # Marks are of other events only.
    assert page.value('''posixtrace.trace.lanes.every((lane) => [...lane.marks.events].every((event) =>
        !posixtrace.trace.types[posixtrace.trace.shapes.type[posixtrace.trace.columns.shape[event]]].stacks))''')
    page.value("posixtrace.state.search('name:linux_sample data:do_135')")
    page.wait('posixtrace.state.searching === null && posixtrace.state.hits')
    inside = sum(weight for stack, weight in folded('made.log', 'on', 0, page.value('posixtrace.trace.last') + 1)
                 if 'do_135' in stack)
    assert page.value('posixtrace.state.hits.length') == inside > 0
    close(page)


def test_a_million_samples():
    subprocess.run([STACKS_LOG, 'million.log', '1000000', '0'], check=True)
    page = page_of('million.log')
    without = len(tool('view', '-f', '-o', '-', '-e', '!linux_sample', 'million.log'))
    assert page.value('posixtrace.trace.stacks.on.count') == 1_000_000
    times, size = page.value('posixtrace.times'), os.stat('million.log.html').st_size
    slowest = page.value('''(() => { const { state, timeline, flames } = posixtrace, all = state.all.t1 - state.all.t0;
        const slow = [];
        document.getElementById('tab-samples').click();
        for (const [part, draw] of [[1, timeline.paint], [0.1, timeline.paint], [0.001, timeline.paint],
            [1, () => flames[5](true)], [0.1, () => flames[5](true)], [0.001, () => flames[5](true)]]) {
            const frames = [];
            for (let k = 0; k < 8; k++) {
                const middle = state.all.t0 + all * (0.1 + 0.1 * k);
                state.show(middle - all * part / 2, middle + all * part / 2);
                const begin = performance.now();
                draw();
                document.body.offsetHeight;
                frames.push(performance.now() - begin);
            }
            // Other processes may take the processor during some of them.
            frames.sort((a, b) => b - a);
            slow.push([part, Math.round(frames[4] * 10) / 10]);
        }
        return slow; })()''')
    print(f'     a million samples: {(size - without) / 1e6:.1f} bytes each in the page, '
          f'{os.stat("million.log").st_size / 1e6:.1f} in the log; {times["load"]:.0f} ms to load, '
          f'{times["all"]:.0f} ms in all; frames of the time line, and of the graph (part, ms): {slowest}')
    assert (size - without) / 1e6 < 12
    assert times['all'] < LOAD_MS and all(ms < FRAME_MS for _, ms in slowest), slowest
    close(page)


def main():
    subprocess.run([STACKS_LOG, 'made.log', '20000', '5000'], check=True)
    failed, skipped = [], []
    for name, test in list(globals().items()):
        if not name.startswith('test_') or (sys.argv[4:] and name not in sys.argv[4:]):
            continue
        try:
            test()
            print(f'ok   {name}', flush=True)
        except Skipped as reason:
            skipped.append(name)
            print(f'skipped: {name}: {reason}', flush=True)
        except Exception:
            failed.append(name)
            traceback.print_exc()
            print(f'FAIL {name}', flush=True)
    return 1 if failed else 77 if skipped else 0


if __name__ == '__main__':
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            with Browser() as browser:
                status = main()
            os.chdir('/')
    except Trouble as trouble:
        print(f'skipped: {trouble}')
        status = 77
    sys.exit(status)
