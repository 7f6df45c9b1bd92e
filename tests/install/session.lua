-- SPDX-License-Identifier: Apache-2.0
-- Run by stock lua5.4: a program described, tuned with the default space, the
-- best trace stepped through and changed, the kernel run, and deployed as a
-- shared library that a program in C calls.
local ts = require "tessera"

local N = 48
local A = ts.placeholder("A", { N, N })
local B = ts.placeholder("B", { N, N })
local k = ts.reduce_axis("k", N)
local C = ts.compute("C", { N, N }, function(i, j)
  return ts.sum(A(i, k) * B(k, j), k)
end)
local D = ts.compute("D", { N, N }, function(i, j)
  return ts.select(ts.eq(i, j), 0, ts.max(C(i, j), 0))
end)
local program = ts.program("product", { A, B }, { D })

local path = os.tmpname()
os.remove(path)
local result = ts.tune(program, { trials = 8, batch = 4, seed = 1,
                                  min_time = 0.001, database = path })
assert(result.status == "OK" and result.trials == 8, result.funnel)

-- The database knows a best one, too: the winner of the last timing may be
-- another of the best few.
local db = ts.database(path)
local best, stored = db:best(program, "llvm")
assert(best.hash == program:hash())
assert(ts.equivalent(stored:replay(program), program))

-- Forth and back through the best trace.
local trace = result.trace
local s = trace:stepper(program)
local texts = { [0] = tostring(s:program()) }
while s:next() do texts[s:position()] = tostring(s:program()) end
assert(s:position() == #trace)
while s:back() do assert(tostring(s:program()) == texts[s:position()]) end
assert(s:position() == 0)

-- Another decision at the first tile.
local changed
for n = 1, #trace do
  s:goto_(n)
  local d = trace[n].name == "sample_perfect_tile" and s:decision()
  for _, a in ipairs(d and s:alternatives() or {}) do
    if not changed and table.concat(a.decision, " ") ~= table.concat(d, " ") and
       s:decide(a.decision) then
      changed = s:trace()
      assert(changed == trace:with_decision(n, a.decision))
    end
  end
  if changed then break end
end
assert(changed and changed ~= trace)
assert(ts.equivalent(changed:replay(program), program))

-- Both kernels compute what the interpreter says.
local a = ts.tensor("float32", { N, N }, "integers", 1)
local b = ts.tensor("float32", { N, N }, "integers", 2)
local want = ts.tensor("float32", { N, N })
ts.interpret(program, { a, b, want })
for _, kernel in ipairs { result.kernel, ts.build(changed:replay(program)) } do
  local d = ts.tensor("float32", { N, N })
  kernel(a, b, d)
  assert(d:compare(want) == 0)
  assert(kernel:time({ a, b, d }, { min_time = 0.001 }).median > 0)
end

-- Where A is 1 and B is 2, an element off the diagonal is 2 N.
local base = os.tmpname()
local function write(name, text)
  local f <close> = assert(io.open(name, "w"))
  f:write(text)
end
result.kernel:save(base .. ".so", base .. ".h")
write(base .. ".c", ([[
#include "%s.h"
#include <stdio.h>
int main(void) {
  static float a[48 * 48], b[48 * 48], d[48 * 48];
  for (int i = 0; i < 48 * 48; i++) a[i] = 1, b[i] = 2;
  if (product(a, b, d)) return 1;
  printf("%%g %%g", d[0], d[1]);
}
]]):format(base))
assert(os.execute(("cc %s.c %s.so -o %s.run"):format(base, base, base)))
do
  local run <close> = assert(io.popen(base .. ".run"))
  assert(run:read "a" == ("0 %d"):format(2 * N))
end
for _, ending in ipairs { "", ".so", ".h", ".c", ".run" } do
  os.remove(base .. ending)
end

db:close()
for _, ending in ipairs { "", "-wal", "-shm" } do os.remove(path .. ending) end
print "described, tuned, stepped, run, deployed"
