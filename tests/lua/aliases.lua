-- SPDX-License-Identifier: Apache-2.0
-- Alias metadata in LLVM IR: each access names the buffer it belongs to and
-- those that it does not alias.
local ts = require "tessera"

-- The kind of access that a line is, and its pointer where there is one.
local function access(line)
  local at = line:match "= load [^p][^,]*, ptr (%%[%w_.]+)"
  if at then return "load", at end
  at = line:match "^  store [^p][^,]*, ptr (%%[%w_.]+)"
  if at then return "store", at end
  return line:match " call .*@llvm%.(masked%.%a+)"
end

-- The accesses of a kernel to elements: { kind =, base =, scope =, others = },
-- with the pointer that the address comes from, and the buffers' names.
local function accesses(kernel)
  local text, node, from, list = kernel:source "ir", {}, {}, {}
  for id, body in text:gmatch "\n(!%d+) = !(%b{})" do node[id] = body end
  local function names(id)
    local set = {}
    for scope in node[id]:gmatch "!%d+" do
      set[node[scope]:match "\"([%w_]+)%.%d+\""] = true
    end
    return set
  end
  for line in text:gmatch "[^\n]+" do
    local made, base =
      line:match "^  (%%[%w_.]+) = getelementptr [^,]*, ptr (%%[%w_.]+)"
    if made then from[made] = from[base] or base end
    local kind, at = access(line)
    if kind then
      local scope, others = line:match "!alias.scope (!%d+), !noalias (!%d+)"
      assert(scope, line)
      list[#list + 1] = { kind = kind, base = at and (from[at] or at),
                          scope = names(scope), others = names(others) }
    end
  end
  return list
end

-- There are these kinds of accesses, each of one of these buffers, and apart
-- from the rest; the owner of a pointer may be known.
local function check(kernel, kinds, buffers, owner)
  local seen = {}
  for _, a in ipairs(accesses(kernel)) do
    local own = next(a.scope)
    assert(own and next(a.scope, own) == nil)
    seen[own], seen[a.kind] = true, true
    for _, b in ipairs(buffers) do
      assert((a.others[b] or false) == (b ~= own), own .. " and " .. b)
    end
    if owner then assert(owner(a.base) == own, a.base) end
  end
  for _, list in ipairs { kinds, buffers } do
    for _, what in ipairs(list) do assert(seen[what], what) end
  end
end

local N = 64
local A, B = ts.placeholder("A", { N }), ts.placeholder("B", { N })
local T = ts.compute("T", { N }, function(i) return A(i) * B(i) end)
local D = ts.compute("D", { N - 2 }, function(i) return T(i) + T(i + 2) end)
local p = ts.program("p", { A, B }, { D })

-- Parameters bear their names; the rest is the kernel's own.
check(ts.build(p), { "load", "store" }, { "A", "B", "T", "D" }, function(base)
  return base:match "^%%(%a[%w_]*)$" or "T"
end)

-- The same in the functions that threads run.
local sch = ts.schedule(p)
sch:parallel((sch:get_loops(sch:get_block("T"))))
sch:parallel((sch:get_loops(sch:get_block("D"))))
check(ts.build(sch), { "load", "store" }, { "A", "B", "T", "D" })

-- Lanes that lie apart, and those of which some are none.
local I = ts.placeholder("I", { N - 3 }, "int32")
local E = ts.compute("E", { N - 3 }, function(i) return A(I(i)) end)
sch = ts.schedule(ts.program("gathered", { A, I }, { E }))
local _, lanes = sch:split((sch:get_loops(sch:get_block("E"))), { ts.auto, 8 })
sch:vectorize(lanes)
check(ts.build(sch), { "load", "store", "masked.gather", "masked.load",
                       "masked.store" }, { "A", "I", "E" })

local F = ts.compute("F", { N - 3, 5 }, function(i, j) return A(j) + B(i) end)
sch = ts.schedule(ts.program("scattered", { A, B }, { F }))
local i, j = sch:get_loops(sch:get_block("F"))
sch:reorder(j, i)
_, lanes = sch:split(i, { ts.auto, 8 })
sch:vectorize(lanes)
check(ts.build(sch), { "masked.scatter" }, { "A", "B", "F" })
