-- SPDX-License-Identifier: Apache-2.0
-- A builder that is used wrongly says so, and can be used on.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails

do
  local function fill(b, name, value)
    local y = b:output(name, { 4 }, "int32")
    b:loop("i", 0, 4, function(i)
      b:block(name, { { "v", extent = 4, bind = i } }, function(v)
        b:store(y, { v }, value)
      end)
    end)
    return y
  end
  local outer, inner = ts.builder("outer"), ts.builder("inner")
  local both = "builder 'inner' is used inside of a statement of builder " ..
               "'outer', which is open"
  local y = inner:output("y", { 4 }, "int32")
  for _, use in ipairs {
    function() fill(inner, "z", 1) end,
    function() inner:loop("i", 0, 4, function() end) end,
    function() inner:store(y, { 0 }, 1) end,
    function() inner:program() end,
  } do
    fails(nil, both, outer.loop, outer, "i", 0, 4, use)
  end
  fails(nil, "compute 'c' is described inside of loop 'i', which is open",
        outer.loop, outer, "i", 0, 4, function()
          ts.compute("c", { 4 }, function(k) return k end)
        end)
  fails(nil, "loop 'i' is still open", outer.loop, outer, "i", 0, 4,
        function() outer:program() end)

  -- What describes cannot yield, and so not stop in the middle.
  local x = ts.placeholder("x", { 4 })
  local function stops(describe)
    local co = coroutine.create(describe)
    local ok, e = coroutine.resume(co)
    assert(not ok and tostring(e):find("attempt to yield", 1, true),
           tostring(e))
    assert(not coroutine.close(co))
  end
  local yield = coroutine.yield
  stops(function() ts.compute("C", { 4 }, yield) end)
  stops(function() outer:loop("i", 0, 4, yield) end)
  stops(function() outer:let("l", 1, yield) end)
  stops(function() outer:when(ts.const(true, "bool"), yield) end)
  stops(function()
    outer:when(ts.const(true, "bool"), function() end, yield)
  end)
  stops(function()
    outer:block("b", { { "v", extent = 4, bind = 0 } }, yield)
  end)
  stops(function()
    outer:block("b", { { "v", "reduce", extent = 4, bind = 0 } },
                function() outer:init(yield) end)
  end)
  stops(function()
    local k = ts.reduce_axis("k", 4)
    ts.compute("C", { 1 }, function()
      return ts.reducer(yield, 0)(x(k), k)
    end)
  end)
  assert(ts.program("p", { x }, { ts.compute("C", { 4 }, function(i)
    -- A separate coroutine is allowed.
    local each = coroutine.wrap(function() yield(x(i)) yield(1) end)
    return each() + each()
  end) }):verify())
  inner = ts.builder("inner")
  fill(inner, "z", 1)
  assert(inner:program():verify())

  -- Nor does an error leave anything open, in a coroutine that dies of it
  -- neither, nor a hook that ends a script wherever it is.
  local function usable(n)
    assert(ts.compute("B", { 8 }, function(i) return i + 1 end), n)
    local b = ts.builder("after")
    fill(b, "z", 1)
    assert(b:program():verify(), n)
  end
  for _, describe in ipairs {
    function() ts.compute("C", { 4 }, function() error "bad" end) end,
    function()
      outer:loop("i", 0, 4, function()
        outer:block("b", { { "v", "reduce", extent = 4, bind = 0 } },
                    function() outer:init(function() error "bad" end) end)
      end)
    end,
  } do
    local co = coroutine.create(describe)
    assert(not coroutine.resume(co))
    usable()
  end
  local function script()
    local b = ts.builder("script")
    b:loop("i", 0, 4, function(i) b:let("l", i, function() end) end)
    ts.compute("C", { 4 }, function(i) return i end)
    return b:program()
  end
  for n = 1, 400 do
    pcall(function()
      debug.sethook(function()
        debug.sethook()
        error("out of time", 0)
      end, "", n)
      script()
      debug.sethook()
    end)
    usable(n)
  end

  -- What failed is not in the program.
  local partly = ts.builder("partly")
  local z = fill(partly, "z", 1)
  pcall(partly.loop, partly, "bad", 0, 4, function(i)
    partly:store(z, { i }, 2)
    error "not this"
  end)
  assert(not tostring(partly:program()):find "bad")

  local b = ts.builder("b")
  local x = b:input("x", { 4, 4 }, "int32")
  local nothing = function() end
  fails(nil, "input 'x' cannot be stored to", b.store, b, x, { 0, 0 }, 1)
  fails(nil, "buffer 'x' has 2 dimensions but is indexed by 1", x, 0)
  fails(nil, "a buffer is expected, not number", b.store, b, 5, { 0 }, 1)
  fails(nil, "is of kind 'red'; it must be spatial, reduce or opaque", b.block,
        b, "s", { { "v", "red", extent = 4, bind = 0 } }, nothing)
  fails(nil, "iteration 1 of block 's' must be a table", b.block, b, "s",
        { "v" }, nothing)
  fails(nil, "block 's' needs a list of its iterations", b.block, b, "s", nil,
        nothing)
  fails(nil, "block 's' needs a function", b.block, b, "s", {})
  fails(nil, "loop 'i' needs a function", b.loop, b, "i", 0, nothing)
  fails(nil, "an if needs a function", b.when, b, true)
  fails(nil, "called with a colon", b.loop, "i", 0, 4, nothing)
  fails(nil, "the name of a builder must be a string, not nil", ts.builder)
  fails(nil, "the body of compute 'c' must be a function", ts.compute, "c",
        { 4 })
  fails(nil, "the shape of compute 'c' must be a list", ts.compute, "c", 4,
        nothing)
  local kept
  b:loop("i", 0, 4, function(i) kept = i end)
  fails(nil, "variable 'i' is not known in the extent of 'j'", b.loop, b, "j",
        0, kept, nothing)
  local function deep(n)
    b:loop("i", 0, 1, function() if n > 0 then deep(n - 1) end end)
  end
  fails(nil, "statements nest deeper than 160", deep, 300)

  -- Extents that are none, or too large to be counted.
  local half = 1 << 30
  for _, case in ipairs {
    { 4.5, "is 4.5, which is not a value of int64" },
    { 4.0, "is 4.0, a real number" },
    { -1, "is -1; it must be at least 1" },
    { 0, "is 0; it must be at least 1" },
    { 1 / 0, "is inf, which is not" },
  } do
    fails(nil, case[2], ts.placeholder, "x", { case[1] })
  end
  fails(nil, "has 2^60 elements or more", ts.placeholder, "x", { half, half })
  fails(nil, "has 2^60 elements or more", ts.placeholder, "x",
        { math.maxinteger, math.maxinteger })
  fails(nil, "has 2^60 elements or more", ts.compute, "x", { half, half },
        function(i) return i end)
  assert(ts.placeholder("x", { half, half - 1 }))

  -- A buffer is filled by the builder that made it.
  for _, make in ipairs { b.inout, b.output, b.buffer } do
    local theirs = make(b, "theirs", { 4 }, "int32")
    fails(nil,
          "is a buffer of builder 'b', and builder 'inner' cannot store to it",
          inner.store, inner, theirs, { 0 }, 1)
  end
  b = ts.builder("b")
  assert(fill(b, "y", 2) and b:program():verify())
end
