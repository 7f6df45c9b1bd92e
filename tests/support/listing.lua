-- SPDX-License-Identifier: Apache-2.0
-- Runs a page of listings, tests/schedule/*.md:
--
--     ## A case, by what it shows
--
--     ```
--     the program, as it is printed
--     ```
--     ```lua
--     i0, i1 = split(i, { auto, 4 })
--     vectorize(k) --> NOT_SPATIAL: loop k drives an iter
--     ```
--     ```
--     the program that the schedule has made
--     ```
--
-- A case without a program has that of the case before, or what a block ```diff
-- makes of the last one that was written down: lines that begin with - go,
-- those with + come, others say where.  So may the program be given that the
-- schedule has made, by what it makes of the one before.
--
-- The methods of the schedule, primitives and queries, are functions here, and
-- names of the program's blocks and loops are those; loop(D, "i") is the loop i
-- around block D, where there are several.  A call in front of --> must be
-- refused for that reason, or be an error of that code, with that in its text,
-- which may go on in lines that begin with -->, and change nothing; every other
-- call applies.  A line ... of an expected program stands for any lines.  At
-- the end of a case that changed something its schedule replays and computes
-- what the program does, also lowered, unless `differs()` was called, as of
-- programs that read what nobody wrote.  `lowers()` says that it does so behind
-- each pass of lowering.
--
-- TESSERA_GOLDEN=write writes the expected programs anew; look at the
-- difference before you commit it.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "checks.lua")))

-- ---- reading ---------------------------------------------------------------

-- The lines with the changes of a block ```diff.
local function patched(lines, changes)
  local out, at = {}, 1
  for _, change in ipairs(changes) do
    local mark, line = change:match "^([-+ ])(.*)$"
    if mark == "+" then
      out[#out + 1] = line
    else
      while lines[at] ~= line do
        assert(lines[at], "no line to change: " .. change)
        out[#out + 1], at = lines[at], at + 1
      end
      if mark == " " then out[#out + 1] = line end
      at = at + 1
    end
  end
  return table.move(lines, at, #lines, #out + 1, out)
end

local function parse(lines)
  return ts.parse(table.concat(lines, "\n") .. "\n")
end

-- The cases of a page: { title, program =, steps = { { kind, lines, line } } }.
local function read(path)
  local cases, block, program, written, n = {}, nil, nil, nil, 0
  for line in io.lines(path) do
    n = n + 1
    local fence, title = line:match "^```(.*)$", line:match "^## (.*)$"
    local case = cases[#cases]
    if block and fence then
      if block.kind == "diff" and #case.steps > 0 then
        table.insert(case.steps, block)
      elseif block.kind == "diff" then
        program = parse(patched(written, block.lines))
      elseif block.kind == "" and #case.steps == 0 then
        written, program = block.lines, parse(block.lines)
      else
        table.insert(case.steps, block)
      end
      case.program, block = program, nil
    elseif block then
      table.insert(block.lines, line)
    elseif fence then
      assert(case, "a block before the first case")
      block = { kind = fence, lines = {}, line = n + 1 }
    elseif title then
      table.insert(cases, { title = title, steps = {} })
    end
  end
  assert(not block, "a block does not end")
  return cases
end

-- ---- names -----------------------------------------------------------------

local function find_block(sch, name)
  local ok, block = pcall(sch.get_block, sch, name)
  return ok and block or nil
end

-- The loop of that name around the block.
local function loop_around(sch, block, name)
  for _, loop in ipairs { sch:get_loops(block) } do
    if sch:loop_info(loop).name == name then return loop end
  end
end

local function find_loop(sch, name)
  local found
  for block in tostring(sch):gmatch "%f[%w]block ([%w_]+)%(" do
    local loop = loop_around(sch, sch:get_block(block), name)
    if found and loop and found ~= loop then
      error(("two loops are called %s: loop(BLOCK, %q) is one"):format(
              name, name), 0)
    end
    found = found or loop
  end
  return found
end

-- What the statements of a case see: the schedule's methods, blocks and loops
-- by name, Lua's own.
local function environment(case)
  local sch = ts.schedule(case.program, { seed = 1 })
  local function method(name)
    local is_there, f = pcall(function() return sch[name] end)
    return is_there and function(...)
      case.call = table.pack(name, ...)
      if case.reason then return end
      return f(sch, ...)
    end
  end
  local own = { sch = sch, ts = ts, auto = ts.auto, program = case.program,
                loop = function(...) return loop_around(sch, ...) end,
                differs = function() case.differs = true end,
                lowers = function()
                  for _, pass in ipairs(ts.lower_passes()) do
                    local p = ts.lower(sch, { after = pass.name })
                    assert(ts.equivalent(p, case.program), pass.name)
                  end
                end }
  case.sch = sch
  return setmetatable(own, { __index = function(_, name)
    return method(name) or _G[name] or find_block(sch, name) or
           find_loop(sch, name)
  end })
end

-- ---- running ---------------------------------------------------------------

-- The call that a line describes is refused.
local function refused(case, run, expected)
  local reason, text = expected:match "^([%u_]+):?%s*(.-)$"
  case.reason = reason
  run()
  case.reason = nil
  local e = checks.refused(case.sch, reason, table.unpack(case.call, 1,
                                                          case.call.n))
  if not e.message:find(text, 1, true) then
    error(("not '%s', but: %s"):format(text, e.message), 0)
  end
end

-- The lines of a block as { code, expected, line }: what stands behind -->,
-- also in lines of its own, is expected of the code before.
local function parts_of(block)
  local list = {}
  for i, text in ipairs(block.lines) do
    local code, expected = text:match "^(.-)%s*%-%->%s*(.*)$"
    local last = list[#list]
    if code == "" and last then
      last.expected = (last.expected and last.expected .. " " or "") .. expected
    else
      list[#list + 1] = { code = code or text, expected = expected,
                          line = block.line + i - 1 }
    end
  end
  return list
end

-- Runs the statements one by one; each ends with the line that completes it.
local function perform(path, case, block)
  local pending = ""
  for _, part in ipairs(parts_of(block)) do
    pending = pending .. part.code .. "\n"
    local run, e = load(pending, "=" .. path, "t", case.env)
    local ok, why = true, nil
    if run then
      pending = ""
      if part.expected then
        ok, why = pcall(refused, case, run, part.expected)
      else
        ok, why = pcall(run)
      end
    elseif part.expected or not e:find "<eof>" then
      ok, why = false, e
    end
    if not ok then error(("%s:%d: %s"):format(path, part.line, why), 0) end
  end
  if pending ~= "" then
    error(("%s:%d: unfinished"):format(path, block.line), 0)
  end
end

-- Do the lines fit those wanted, of which "..." stands for any?
local function fits(want, got, i, j)
  i, j = i or 1, j or 1
  while i <= #want do
    if want[i]:match "^%s*%.%.%.$" then
      for k = j, #got + 1 do
        if fits(want, got, i + 1, k) then return true end
      end
      return false
    end
    if want[i] ~= got[j] then return false end
    i, j = i + 1, j + 1
  end
  return j > #got
end

local function lines_of(program)
  local list = {}
  for line in tostring(program):gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end

-- The block is the program as it stands, or says how it differs from the one
-- before.
local function compare(path, case, block, write)
  local got, wanted = lines_of(case.sch), block.lines
  if block.kind == "diff" then wanted = patched(case.shown, wanted) end
  case.shown = got
  if fits(wanted, got) then return end
  if write and block.kind ~= "diff" then
    block.lines = got
    return
  end
  error(("%s:%d: not this program, but\n%s"):format(path, block.line,
                                                  tostring(case.sch)), 0)
end

local function has_sizes(program)
  return tostring(program):find("%f[%w]%w+: size%f[^%w]") ~= nil
end

-- In a build that checks, one case of three is also computed.
local function run(path, case, number, write)
  if #case.steps == 0 then return end
  assert(case.program, case.title .. ": there is no program")
  case.env, case.shown = environment(case), lines_of(case.program)
  for _, block in ipairs(case.steps) do
    if block.kind == "lua" then
      perform(path, case, block)
    else
      compare(path, case, block, write)
    end
  end
  if tostring(case.sch) == tostring(case.program) then return end
  local seldom = checks.checked and number % 3 ~= 1
  if case.differs or seldom or has_sizes(case.program) then
    checks.replays(case.sch, case.program)
  else
    checks.same(case.sch, case.program)
  end
end

-- The page with the lines of blocks that were compared.
local function rewrite(path, cases)
  local lines, out, at = {}, {}, 1
  for line in io.lines(path) do lines[#lines + 1] = line end
  for _, case in ipairs(cases) do
    for _, block in ipairs(case.steps) do
      table.move(lines, at, block.line - 1, #out + 1, out)
      table.move(block.lines, 1, #block.lines, #out + 1, out)
      at = block.line
      while not lines[at]:find "^```" do at = at + 1 end
    end
  end
  table.move(lines, at, #lines, #out + 1, out)
  ts.write_file(path, table.concat(out, "\n") .. "\n")
end

local path = arg[1]
local write = os.getenv "TESSERA_GOLDEN" == "write"
local cases, wrong = read(path), {}
assert(#cases > 0, path .. " has no cases")
for number, case in ipairs(cases) do
  local ok, e = pcall(run, path, case, number, write)
  if not ok then wrong[#wrong + 1] = case.title .. ": " .. tostring(e) end
end
if write then rewrite(path, cases) end
if #wrong > 0 then error(table.concat(wrong, "\n"), 0) end
