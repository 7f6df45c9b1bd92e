-- SPDX-License-Identifier: Apache-2.0
-- Random schedules of every operator compute what the operator does: among
-- residues, and compiled.
--   tessera tests/lua/ops_random.lua [COUNT [SEED]]
-- does COUNT schedules (0: one of each operator, as ctest does).
local ts = require "tessera"
local ops = require "tessera.ops"
local here = arg[0]:gsub("[^/]*$", "")
local op_rows = dofile(here .. "../support/op_rows.lua")

local count = math.tointeger(tonumber(arg[1] or 0)) or 0
local state = math.tointeger(tonumber(arg[2] or 1)) or 1

-- 0 .. n - 1; splitmix64, so that a seed gives the same schedules everywhere.
local function below(n)
  state = state + 0x9e3779b97f4a7c15
  local z = state
  z = (z ~ (z >> 30)) * 0xbf58476d1ce4e5b9
  z = (z ~ (z >> 27)) * 0x94d049bb133111eb
  return ((z ~ (z >> 31)) >> 1) % n
end
local function one_of(list) return list[below(#list) + 1] end

-- ---- steps -----------------------------------------------------------------

local function blocks_of(sch)
  local list, todo = {}, { sch:get_block "root" }
  while #todo > 0 do
    for _, child in ipairs { sch:get_child_blocks(table.remove(todo)) } do
      list[#list + 1], todo[#todo + 1] = child, child
    end
  end
  return list
end

-- A block, one of its loops and the list of all.
local function draw(sch)
  local block = one_of(blocks_of(sch))
  local loops = { sch:get_loops(block) }
  return block, #loops > 0 and one_of(loops), loops
end

-- A loop of any block; of none without loops.
local function any_loop(sch)
  local _, loop
  repeat _, loop = draw(sch) until loop
  return loop
end

local scopes = { "global", "local" }
local steps = {
  function(sch, _, loop) sch:split(loop, { ts.auto, 2 + below(3) }) end,
  function(sch, _, loop)
    sch:split(loop, { sch:sample_perfect_tile(loop, { n = 2 }) })
  end,
  function(sch, _, _, loops)
    local at = 1 + below(#loops - 1)
    sch:fuse(loops[at], loops[at + 1])
  end,
  function(sch, _, _, loops)
    sch:reorder(one_of(loops), one_of(loops))
  end,
  function(sch, _, loop) sch:parallel(loop) end,
  function(sch, _, loop) sch:vectorize(loop) end,
  function(sch, _, loop) sch:unroll(loop) end,
  function(sch, block) sch:compute_inline(block) end,
  function(sch, block) sch:reverse_compute_inline(block) end,
  function(sch, block) sch:compute_at(block, any_loop(sch)) end,
  function(sch, block) sch:reverse_compute_at(block, any_loop(sch)) end,
  function(sch, block)
    sch:cache_read(block, { "read", below(3) }, one_of(scopes))
  end,
  function(sch, block)
    sch:cache_write(block, { "write", 0 }, one_of(scopes))
  end,
  function(sch, block, loop) sch:decompose_reduction(block, loop) end,
  function(sch, _, loop) sch:rfactor(loop, 0) end,
  function(sch, _, loop) sch:fission(loop, 1) end,
  function(sch, _, loop) sch:loop_partition(loop, { ts.auto, 1 + below(2) })
  end,
  function(sch, block) sch:add_unit_loop(block) end,
  function(sch, _, loop) sch:blockize(loop) end,
  function(sch, block) sch:storage_align(block, 0, 0, 8, 1) end,
}

-- A schedule of some random steps; those that are refused change nothing.
local function scheduled(program)
  local sch, done = ts.schedule(program, { seed = below(1 << 30) }), 0
  for _ = 1, 12 do
    local block, loop, loops = draw(sch)
    local step = one_of(steps)
    if loop and #loops > 1 or loop and step ~= steps[3] then
      local ok, e = pcall(step, sch, block, loop, loops)
      local code = type(e) ~= "string" and e and e.code
      assert(ok or code == "REFUSED" or code == "INVALID" or
             code == "LIMIT" or code == "NOT_FOUND", e)
      done = ok and done + 1 or done
    end
  end
  return sch, done
end

-- ---- checks ----------------------------------------------------------------

local tolerances = { float16 = 0.02, bfloat16 = 0.15, float32 = 1e-3,
                     float64 = 1e-9 }

local function copies(args)
  local own = {}
  for i, t in ipairs(args) do
    own[i] = ts.tensor(t:dtype(), t:shape())
    own[i]:copy_from(t)
  end
  return own
end

-- Two tensors' elements, of any shape, pair by pair.
local function each_pair(a, b, f)
  local shape, at = a:shape(), {}
  local function walk(d)
    if d > #shape then return f(a:get(table.unpack(at)),
                                b:get(table.unpack(at))) end
    for i = 0, shape[d] - 1 do
      at[d] = i
      walk(d + 1)
    end
  end
  walk(1)
end

local function near(x, y, tolerance)
  if type(x) == "boolean" or x == y or (x ~= x and y ~= y) then
    return x == y or x ~= x
  end
  return math.abs(x - y) <= tolerance * math.max(1, math.abs(x))
end

-- Online softmax in parts is another grouping, which residues cannot follow.
local function groups_anew(sch)
  return tostring(sch:trace()):find "rfactor"
end

local function check(row, program, sch)
  local function fail(what)
    error(("%s: %s\n%s\n%s"):format(op_rows.told(row), what, sch:trace():lua(),
                                    sch:program()), 0)
  end
  local ok, same, where = pcall(ts.equivalent, sch, program)
  if not ok then fail(same) end
  if not same and not (row.options.online and groups_anew(sch)) then
    fail(where)
  end
  local args = row.fill == "winograd" and
               op_rows.arguments({ options = {} }, program) or
               op_rows.arguments(row, program)
  local want, got = copies(args), copies(args)
  ts.interpret(program, want)
  ts.build(sch, "llvm")(table.unpack(got))
  for i, t in ipairs(want) do
    local tolerance = tolerances[t:dtype()] or 0
    each_pair(t, got[i], function(x, y)
      if not near(x, y, tolerance) then
        fail(("compiled: parameter %d has %s, not %s"):format(i, y, x))
      end
    end)
  end
end

-- Of each operator one row; or rows at random.
local chosen, seen = {}, {}
local rows = op_rows.rows
for _, row in ipairs(rows) do seen[row.name] = seen[row.name] or {} end
for _, row in ipairs(rows) do table.insert(seen[row.name], row) end
if count == 0 then
  local names = {}
  for name in pairs(seen) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do chosen[i] = one_of(seen[name]) end
else
  for i = 1, count do chosen[i] = one_of(rows) end
end

local applied = 0
for _, row in ipairs(chosen) do
  local program = ops[row.name](row.options)
  local sch, done = scheduled(program)
  applied = applied + done
  check(row, program, sch)
end
print(("%d schedules, %d steps"):format(#chosen, applied))
assert(applied > 2 * #chosen)
