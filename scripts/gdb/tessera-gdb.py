# SPDX-License-Identifier: Apache-2.0
"""Tessera in gdb: (gdb) source scripts/gdb/tessera-gdb.py

Printers, which read memory only and so work on core files:
  VEC(T)                  its length and its elements
  ir_expr, ir_stmt        index and text, by the program that is in sight
  ir_node, ir_stmt_rec    operator or kind, with the operands' indices

Commands, which call the library's dump functions in the running process:
  ir-dump [PROGRAM]               the whole program
  ir-stmt STMT [, PROGRAM]        a statement and all below it
  ir-expr EXPR [, PROGRAM]        an expression

PROGRAM is an expression of type ir_program * ("m->p").  Without it, it is the
first one that an argument or local variable of the frame is, points to, or
has as member `p`, and so on outwards.  Needs -g2 or more (preset debug).
"""
import gdb

MAX_FRAMES = 16   # looked at for a program
MAX_NODES = 60    # of an expression that are printed
INFIX = {'ADD': '+', 'SUB': '-', 'MUL': '*', 'DIV': '//', 'MOD': '%',
         'EQ': '==', 'NE': '!=', 'LT': '<', 'LE': '<=', 'AND': '&&',
         'OR': '||'}


def as_program(v):
    """The ir_program that v is or points to, or has as member p; or None."""
    t = v.type.strip_typedefs()
    if t.code == gdb.TYPE_CODE_PTR and int(v):
        t = t.target().strip_typedefs()
        if t.code != gdb.TYPE_CODE_STRUCT:
            return None
        v = v.dereference()
    if t.code != gdb.TYPE_CODE_STRUCT:
        return None
    if t.unqualified().tag == 'ir_program' or has_fields(t, 'node', 'intern'):
        return v
    if has_fields(t, 'p'):
        field = v['p'].type.strip_typedefs()
        if (field.code == gdb.TYPE_CODE_PTR and int(v['p']) and
                has_fields(field.target().strip_typedefs(), 'node', 'intern')):
            return v['p'].dereference()
    return None


def has_fields(t, *names):
    if t.code != gdb.TYPE_CODE_STRUCT:
        return False
    return set(names) <= {f.name for f in t.fields()}


def frame_variables(frame):
    try:
        block = frame.block()
    except RuntimeError:
        return
    while block and not block.is_static and not block.is_global:
        for symbol in block:
            if symbol.is_argument or symbol.is_variable:
                yield symbol
        block = block.superblock


def find_program():
    """The program of the selected frame, or of the nearest around it."""
    try:
        frame = gdb.selected_frame()
    except gdb.error:
        return None
    for _ in range(MAX_FRAMES):
        if frame is None:
            return None
        for symbol in frame_variables(frame):
            try:
                p = as_program(symbol.value(frame))
                if p is not None and 0 < int(p['node']['n']):
                    return p
            except gdb.error:
                pass          # optimised out, or not initialised yet
        frame = frame.older()
    return None


def c_text(p, offset):
    return (p['text']['v'] + int(offset)).string()


def enum_name(name, value):
    """The name of an enumerator without its prefix IR_."""
    return str(value.cast(gdb.lookup_type(name))).replace('IR_', '', 1)


def var_text(p, v):
    """As ir_var_name() spells it."""
    r = p['var']['v'][int(v)]
    form = enum_name('ir_name_form', r['form'])
    a, b = int(r['from'][0]), int(r['from'][1])
    if form == 'NAME_PLAIN':
        return c_text(p, r['name'])
    if form == 'NAME_SPLIT':
        return '%s_%d' % (var_text(p, a), int(r['part']))
    if form == 'NAME_FUSED':
        end = '' if int(r['part']) else '_fused'
        return '%s_%s%s' % (var_text(p, a), var_text(p, b), end)
    if form == 'NAME_AX':
        return 'ax%d' % int(r['part'])
    return var_text(p, a) + {'NAME_INIT': '_init', 'NAME_OUTER': '_o',
                             'NAME_INNER': '_i'}[form]


def buf_text(p, b):
    return c_text(p, p['buf']['v'][int(b)]['name'])


class Speller:
    """Spells expressions of one program, up to a number of nodes."""

    def __init__(self, p):
        self.p, self.left = p, MAX_NODES

    def args(self, at, n):
        return ', '.join(self.expr(self.p['arg']['v'][int(at) + i])
                         for i in range(int(n)))

    def call(self, n):
        text = str(n['a'].cast(gdb.lookup_type('ir_fn')))
        text = text.replace('IR_FN_', '').lower()
        if text in ('extern', 'instead'):
            text = c_text(self.p, n['c'])
        return '%s(%s)' % (text, self.args(n['b'], n['n']))

    def load(self, n):
        mask = ' if ' + self.expr(n['c']) if int(n['c']) else ''
        return '%s[%s]%s' % (buf_text(self.p, n['a']),
                             self.args(n['b'], n['n']), mask)

    def expr(self, e):
        e = int(e)
        if e >= int(self.p['node']['n']):
            return '<no node %d>' % e
        if self.left == 0:
            return '...'
        self.left -= 1
        n = self.p['node']['v'][e]
        op = enum_name('ir_op', n['op'])
        if op == 'NONE':
            return 'none'
        if op in ('INT', 'REAL'):
            return str(n['i'] if op == 'INT' else n['f'])
        if op == 'VAR':
            return var_text(self.p, n['a'])
        if op == 'LOAD':
            return self.load(n)
        if op == 'CALL':
            return self.call(n)
        if op in INFIX:
            return '(%s %s %s)' % (self.expr(n['a']), INFIX[op],
                                   self.expr(n['b']))
        k = {'NOT': 1, 'CAST': 1, 'BROADCAST': 1, 'SELECT': 3}.get(op, 2)
        return '%s(%s)' % (op.lower(), ', '.join(
            self.expr(n[f]) for f in ('a', 'b', 'c')[:k]))


def stmt_text(p, s):
    """One line: what the statement is, without what is below it."""
    r = p['stmt']['v'][int(s)]
    kind = enum_name('ir_kind', r['kind'])
    spell = Speller(p).expr
    if kind == 'LOOP':
        return 'for %s in %s(%s, extent=%s)' % (
            var_text(p, r['var']),
            enum_name('ir_loop_kind', r['loop_kind']).lower(),
            spell(r['lo']), spell(r['extent']))
    if kind == 'BLOCK':
        return 'block ' + c_text(p, p['block']['v'][int(r['block'])]['name'])
    if kind == 'STORE':
        idx = Speller(p).args(r['idx']['at'], r['idx']['n'])
        return '%s[%s] = %s' % (buf_text(p, r['buf']), idx, spell(r['value']))
    if kind == 'IF':
        return 'if ' + spell(r['cond'])
    if kind == 'LET':
        return 'let %s = %s' % (var_text(p, r['let_var']),
                                spell(r['let_value']))
    if kind == 'EVALUATE':
        return spell(r['eval'])
    if kind == 'ALLOCATE':
        return 'allocate ' + buf_text(p, r['alloc'])
    return kind.lower()


class IndexPrinter:
    """ir_expr and ir_stmt: the index, and the text where it is known."""

    def __init__(self, v, table, spell):
        self.v, self.table, self.spell = v, table, spell

    def to_string(self):
        i, p = int(self.v), find_program()
        if i == 0 or p is None:
            return str(i)
        if i >= int(p[self.table]['n']):
            return '%d (not in %s)' % (i, self.table)
        try:
            return '%d: %s' % (i, self.spell(p, i))
        except gdb.error as problem:
            return '%d (%s)' % (i, problem)


class NodePrinter:
    def __init__(self, v):
        self.v = v

    def to_string(self):
        v = self.v
        op = enum_name('ir_op', v['op'])
        lanes = int(v['dtype']['lanes'])
        if op in ('INT', 'REAL'):
            text = '%s %s' % (op, v['i'] if op == 'INT' else v['f'])
        else:
            text = '%s a=%d b=%d c=%d' % (op, int(v['a']), int(v['b']),
                                          int(v['c']))
        if op in ('LOAD', 'CALL'):
            text += ' n=%d' % int(v['n'])
        if lanes > 1:
            text += ' lanes=%d' % lanes
        return '%s in [%d, %d]' % (text, int(v['lo']), int(v['hi']))


class StmtPrinter:
    FIELDS = {'LOOP': ('var', 'lo', 'extent'), 'BLOCK': ('block',),
              'STORE': ('buf', 'value', 'mask'), 'IF': ('cond',),
              'LET': ('let_var', 'let_value'), 'EVALUATE': ('eval',),
              'ALLOCATE': ('alloc',)}

    def __init__(self, v):
        self.v = v

    def to_string(self):
        kind = enum_name('ir_kind', self.v['kind'])
        links = ('parent', 'prev', 'next', 'body', 'alt', 'anno')
        shown = [f for f in links if int(self.v[f])]
        shown += self.FIELDS.get(kind, ())
        return ' '.join([kind] + ['%s=%d' % (f, int(self.v[f]))
                                  for f in shown])


class VecPrinter:
    def __init__(self, v):
        self.v = v

    def to_string(self):
        return 'VEC of %d (room for %d)' % (int(self.v['n']),
                                            int(self.v['cap']))

    def children(self):
        for i in range(int(self.v['n'])):
            yield '[%d]' % i, self.v['v'][i]

    def display_hint(self):
        return 'array'


def lookup(v):
    name = v.type.unqualified().name
    if name == 'ir_expr':
        return IndexPrinter(v, 'node', lambda p, i: Speller(p).expr(i))
    if name == 'ir_stmt':
        return IndexPrinter(v, 'stmt', stmt_text)
    t = v.type.strip_typedefs()
    if t.code != gdb.TYPE_CODE_STRUCT:
        return None
    if t.tag == 'ir_node':
        return NodePrinter(v)
    if t.tag == 'ir_stmt_rec':
        return StmtPrinter(v)
    if [f.name for f in t.fields()] == ['v', 'n', 'cap']:
        return VecPrinter(v)
    return None


class Dump(gdb.Command):
    """Print IR to the process's stderr: ir-dump [PROGRAM]."""

    def __init__(self, name, function, takes_index):
        super().__init__(name, gdb.COMMAND_DATA, gdb.COMPLETE_SYMBOL)
        self.function, self.takes_index = function, takes_index

    def invoke(self, text, from_tty):
        try:
            self.dump(text)
        except gdb.error as problem:
            raise gdb.GdbError(str(problem))

    def dump(self, text):
        given = [x.strip() for x in text.split(',', 1) if x.strip()]
        index = given.pop(0) if self.takes_index and given else None
        if self.takes_index and index is None:
            raise gdb.GdbError('which one?')
        p = as_program(gdb.parse_and_eval(given[0])) if given \
            else find_program()
        if p is None:
            raise gdb.GdbError('no program in sight; give one as last operand')
        call = '((void (*)(const void *%s))%s)((const void *)%d%s)' % (
            ', unsigned' if index else '', self.function, int(p.address),
            ', %d' % int(gdb.parse_and_eval(index)) if index else '')
        gdb.execute('call ' + call)


gdb.pretty_printers.append(lookup)
Dump('ir-dump', 'ir_dump', False)
Dump('ir-stmt', 'ir_dump_stmt', True)
Dump('ir-expr', 'ir_dump_expr', True)
