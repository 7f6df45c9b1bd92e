-- SPDX-License-Identifier: Apache-2.0
-- Storage scopes of devices without a backend: programs mean the same as with
-- global memory, and traces keep the names.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local ops = require "tessera.ops"

local near = { "global.vtcm", "global.ddr", "global.texture",
               "global.texture-weight", "global.texture-nhwc", "amx.tmm" }
local p = ops.matmul { m = 12, n = 8, k = 6, relu = true }

-- A text as it would be of global memory.
local function plain(x, scope)
  local name = scope:gsub("%p", "%%%0")
  local text = tostring(x):gsub(" in " .. name, ""):gsub("_" .. name, "_global")
  return (text:gsub("'", ""))
end

-- f(s, scope) makes what it does with "global", but for the names.
local function like_global(scope, f, lowered)
  local s, g = ts.schedule(p), ts.schedule(p)
  f(s, scope)
  f(g, "global")
  assert(plain(s, scope) == plain(g, "global"), tostring(s) .. tostring(g))
  assert(tostring(s):find(" in " .. scope, 1, true), s)
  if lowered then
    local x, y = tostring(ts.lower(s)), tostring(ts.lower(g))
    assert(plain(x, scope) == plain(y, "global"), x .. y)
    assert(x:find(" in " .. scope, 1, true), x)
  end
  checks.same(s, p)
  return s
end

local function copies(s, scope)
  local c = s:get_block "C"
  local a = s:cache_read(c, 0, scope)
  s:compute_at(a, (s:get_loops(c)))
  s:cache_write(c, 0, scope)
  s:set_scope(c, 0, scope)
  s:reindex_cache_read(c, 1, scope, function(i, j, k) return j, k end)
  s:parallel((s:get_loops(c)))
end

-- Threads have it in common: it is made where all see it.
local function threads(s, scope)
  local d = s:get_consumers(s:get_block "C")
  local i, j = s:get_loops(d)
  s:set_scope(s:get_block "C", 0, scope)
  s:bind(i, "blockIdx.x")
  s:bind(j, "threadIdx.x")
  s:compute_at(s:get_block "C", j)
end

-- One kernel makes it for another.
local function kernels(s, scope)
  local c = s:get_block "C"
  s:set_scope(c, 0, scope)
  for _, b in ipairs { c, (s:get_consumers(c)) } do
    local i, j = s:get_loops(b)
    s:bind(i, "blockIdx.x")
    s:bind(j, "threadIdx.x")
  end
end

for _, scope in ipairs(near) do
  local s = like_global(scope, copies, true)
  checks.exact(s, p, checks.arguments(p))
  like_global(scope, threads, true)
  like_global(scope, kernels, true)
  local json = s:trace():to_tvm_json()
  assert(json:find('"' .. scope .. '"', 1, true), json)
  local got = ts.trace.from_tvm_json(json, p)
  assert(got:replay():program():hash() == s:program():hash())
  local tr = s:trace()
  assert(ts.trace.from_json(tr:json(), p) == tr)
  assert(ts.trace.from_lua(tostring(tr), p) == tr)
end

-- A fragment belongs to a warp: other accesses are refused by name.
do
  local s = ts.schedule(p)
  s:set_scope(s:get_block "C", 0, "metal.simdgroup")
  local i, j = s:get_loops(s:get_block "C")
  s:bind(i, "threadIdx.x")
  s:reverse_compute_at(s:get_consumers(s:get_block "C"), i)
  checks.replays(s, p)
  checks.fails("UNSUPPORTED", "fragment C belongs to a warp", ts.lower, s)
end
