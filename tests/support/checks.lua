-- SPDX-License-Identifier: Apache-2.0
-- What tests ask of schedules: that they compute what the program does, that
-- a refused call changes nothing, and that an error says what it should.
local ts = require "tessera"

-- A checked build, or one under a sanitizer, where a test does everything, but
-- not often (support/test.h); how many of n cases it does there: an eighth.
local checked = os.getenv "TESSERA_CHECKED" == "1"
local function draws(n) return checked and (n + 7) // 8 or n end

-- Unless ok an error that shows these things.  `tessera --verbose`, as tests
-- are run, shows more than its first line, and who called.
local function claim(ok, ...)
  if ok then return end
  local text = table.pack(...)
  for i = 1, text.n do text[i] = tostring(text[i]) end
  error(table.concat(text, "\n"), 0)
end

-- Runs a test case; an error names it.
local function case(name, run)
  local ok, e = xpcall(run, function(e)
    return type(e) == "string" and debug.traceback(e, 2) or e
  end)
  if not ok then error(name .. ": " .. tostring(e), 0) end
end

-- The schedule's program is well-formed, and what replaying its trace makes.
local function replays(s, p)
  local program, again = s:program(), s:trace():replay(p):program()
  claim(program:verify(), "not well-formed:", s)
  claim(again:equal(program) and tostring(again) == tostring(program),
        "replayed:", again, "not:", s)
end

-- It also computes what p does, and so it does lowered.
local function same(s, p)
  replays(s, p)
  local ok, where = ts.equivalent(s, p)
  claim(ok, where, s)
  local lowered = ts.lower(s)
  claim(lowered:verify(), "lowered, not well-formed:", lowered)
  ok, where = ts.equivalent(lowered, p)
  claim(ok, "lowered:", where, lowered)
end

-- f(s, ...) makes of a new schedule of p, which is returned, one that is the
-- same.
local function legal(p, f, ...)
  local s = ts.schedule(p)
  f(s, ...)
  same(s, p)
  return s
end

-- All that a schedule is, as text.
local function state_of(s)
  local trace = s:trace()
  return table.concat({ tostring(s), s:program():hash(), tostring(trace),
                        trace:json() }, "\n")
end

-- Where tests note the reasons that they have shown (support/test.h).
local shown = os.getenv("TESSERA_SHOWN")

-- The error e is for this reason, or of this code, and s is what it was.
local function claim_refused(ok, e, reason, s, before)
  claim(not ok, "not refused for " .. reason .. ":", s)
  local given = type(e) ~= "string" and (e.reason or e.code)
  claim(given == reason, ("%s is not %s: %s"):format(given, reason, e))
  claim(state_of(s) == before, "refused for " .. reason .. ", but changed:", s)
  if shown and e.code == "REFUSED" then
    assert(io.open(shown .. "/" .. reason, "w")):close()
  end
end

-- s:name(...) is refused for this reason, or is an error of this code, which
-- is returned; nothing has changed.
local function refused(s, reason, name, ...)
  local before = state_of(s)
  local ok, e = pcall(s[name], s, ...)
  claim_refused(ok, e, reason, s, before)
  return e
end

-- So is the last call that f(s, ...) makes of a new schedule of p.
local function illegal(p, reason, f, ...)
  local s, before = ts.schedule(p), nil
  local noting = setmetatable({}, { __index = function(_, name)
    return function(_, ...)
      before = state_of(s)
      return s[name](s, ...)
    end
  end })
  local ok, e = pcall(f, noting, ...)
  claim_refused(ok, e, reason, s, before)
  return e
end

-- f(...) is an error of that code (nil: any) that says `text`; it is returned.
local function fails(code, text, f, ...)
  local ok, e = pcall(f, ...)
  claim(not ok, "no error, where was expected: " .. text)
  if code then
    claim(type(e) ~= "string" and e.code == code, e)
    claim(e.message:find(text, 1, true), e)
  else
    claim(tostring(e):find(text, 1, true), e)
  end
  return e
end

-- The elements of a tensor in their order.
local function elements(t)
  local out, shape = {}, t:shape()
  local function walk(at, d)
    if d > #shape then
      out[#out + 1] = t:get(table.unpack(at))
      return
    end
    for i = 0, shape[d] - 1 do
      at[d] = i
      walk(at, d + 1)
    end
  end
  walk({}, 1)
  return out
end

-- Arguments of p: its inputs filled, its results fresh.
local function arguments(p, fill)
  local args = {}
  for i, b in ipairs(p:params()) do
    args[i] = ts.tensor(b.dtype, b.shape, b.role ~= "output" and fill or nil)
  end
  return args
end

local function run(f, args)
  local own, made = {}, {}
  for i, t in ipairs(args) do
    own[i] = ts.tensor(t:dtype(), t:shape())
    own[i]:copy_from(t)
  end
  f(own)
  for i, t in ipairs(own) do made[i] = elements(t) end
  return made
end

-- From each of these lists of arguments, which stay as they are, each of
-- `ways` makes just the elements that p makes; what is not a number is the
-- same as any such.
local function exact_by(ways, s, p, ...)
  for _, args in ipairs { ... } do
    local want = run(function(own) ts.interpret(p, own) end, args)
    for who, f in pairs(ways) do
      for i, list in ipairs(run(f, args)) do
        for k, x in ipairs(list) do
          local y = want[i][k]
          claim(x == y or (x ~= x and y ~= y),
                who, "argument, element, made, wanted:", i, k - 1, x, y, s)
        end
      end
    end
  end
end
local function oracle(s)
  return function(args) ts.interpret(s, args) end
end
local function exact_by_interpreter(s, p, ...)
  exact_by({ ["the oracle"] = oracle(s) }, s, p, ...)
end
local function exact(s, p, ...)
  local kernel = ts.build(s, "llvm")
  exact_by({
    ["the oracle"] = oracle(s),
    ["compiled code"] = function(args) kernel(table.unpack(args)) end,
  }, s, p, ...)
end

-- f(s) makes of the program that make(size, ..) gives what computes the same
-- at each of these lists of sizes; so it does of one with the first ones as
-- constants.
local function at_sizes(make, f, ...)
  local names = {}
  for i = 1, #(...) do names[i] = ts.size("n" .. i) end
  legal(make(table.unpack((...))), f)
  local p = make(table.unpack(names))
  local s = ts.schedule(p)
  f(s)
  replays(s, p)
  for _, sizes in ipairs { ... } do
    exact(s, p, arguments(make(table.unpack(sizes)), "integers"))
  end
  return s
end

-- LU in place: in each round `div` makes a column of L, of which `upd` takes
-- products from what is right of it.
local function lu(n)
  local b = ts.builder("lu")
  local A = b:inout("A", { n, n })
  b:loop("k", 0, n, function(k)
    b:loop("i", k + 1, n - 1 - k, function(i)
      b:block("div", { { "vk", "opaque", extent = n, bind = k },
                       { "vi", extent = n, bind = i } }, function(vk, vi)
        b:store(A, { vi, vk }, A(vi, vk) / A(vk, vk))
      end)
    end)
    b:loop("i", k + 1, n - 1 - k, function(i)
      b:loop("j", k + 1, n - 1 - k, function(j)
        b:block("upd", { { "vk", "opaque", extent = n, bind = k },
                         { "vi", extent = n, bind = i },
                         { "vj", extent = n, bind = j } },
                function(vk, vi, vj)
          b:store(A, { vi, vj }, A(vi, vj) - A(vi, vk) * A(vk, vj))
        end)
      end)
    end)
  end)
  return b:program()
end

return { replays = replays, same = same, legal = legal, refused = refused,
         illegal = illegal, fails = fails, arguments = arguments,
         exact = exact, exact_by_interpreter = exact_by_interpreter,
         at_sizes = at_sizes, lu = lu, case = case, checked = checked,
         draws = draws }
