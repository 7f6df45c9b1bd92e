-- SPDX-License-Identifier: Apache-2.0
-- Calls with side effects, anywhere in a statement's expression: blocks with
-- them stay in place, and the interpreter counts the calls.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local legal, illegal = checks.legal, checks.illegal

local function note(x) return ts.call_extern("note", "int32", x) end

local acts = {
  call = note,
  cast = function(v) return ts.cast(note(v), "int64") end,
  sum = function(v) return note(v) + note(v + 1) end,
  comparison = function(v) return ts.lt(1, note(v)) end,
  choice = function(v) return ts.select(ts.lt(v, 2), note(v), 0) end,
  argument = function(v) return ts.exp(ts.cast(note(v), "float32")) end,
}

-- T[i] with a call each, which B reads n times.
local function program(act, n, from)
  local b = ts.builder "acts"
  local B, T = b:output("B", { 4, n }, "int32"), b:buffer("T", { 4 }, "int32")
  b:loop("i", 0, 4, function(i)
    b:block("T", { { "v", extent = 4, bind = i } }, function(v)
      b:store(T, { v }, 1)
      if act then b:evaluate(act(v + (from or 0))) end
    end)
  end)
  b:loop("i", 0, 4, function(i)
    b:loop("j", 0, n, function(j)
      b:block("B", { { "v", extent = 4, bind = i },
                     { "w", extent = n, bind = j } },
              function(v, w) b:store(B, { v, w }, T(v)) end)
    end)
  end)
  return b:program()
end

local function compute_at(s)
  local _, j = s:get_loops(s:get_block "B")
  s:compute_at(s:get_block "T", j)
end

local silent = program(nil, 3)
legal(silent, compute_at)
for name, act in pairs(acts) do
  local p = program(act, 3)
  illegal(p, "BLOCK_NOT_COMPLETE", compute_at)
  legal(p, function(s) s:parallel((s:get_loops(s:get_block "T"))) end)
  assert(ts.equivalent(p, program(act, 3)), name)
  assert(not ts.equivalent(p, silent), name)
  assert(not ts.equivalent(p, program(act, 3, 1)), name)
end

-- One of two sides is chosen, and only its call is made.
local function chosen(yes, no)
  return program(function(v) return ts.select(ts.lt(v, 2), yes(v), no(v)) end,
                 1)
end
local function other(x) return note(x + 8) end
assert(ts.equivalent(chosen(note, note), program(note, 1)))
assert(not ts.equivalent(chosen(note, other), program(note, 1)))
assert(not ts.equivalent(chosen(other, note), chosen(note, other)))

-- A call for a value is not made one for what it does, by inlining.
do
  local b = ts.builder "value"
  local A, B = b:input("A", { 4 }, "int32"), b:output("B", { 4 }, "int32")
  local X = b:buffer("X", { 4 }, "int32")
  local function stage(name, f)
    b:loop("i", 0, 4, function(i)
      b:block(name, { { "v", extent = 4, bind = i } }, f)
    end)
  end
  stage("X", function(v) b:store(X, { v }, note(A(v))) end)
  stage("act", function(v) b:evaluate(note(X(v))) end)
  stage("B", function(v) b:store(B, { v }, X(v)) end)
  local p = b:program()
  illegal(p, "CALL_IN_STATEMENT", function(s)
    s:compute_inline(s:get_block "X")
  end)
  legal(p, function(s)
    local x = s:get_block "X"
    local copy = s:cache_read(s:get_block "B", 0, "global")
    s:compute_inline(copy)
    s:parallel((s:get_loops(x)))
  end)
end
