-- SPDX-License-Identifier: Apache-2.0
-- Runs the Lua in README.md and docs/*.md: the blocks of one document in
-- turn, in one environment, in a folder that has the files of tests/data/onnx,
-- and examples/.  A block
-- fenced ```output must be what the block before it printed; a line "..." in it
-- stands for any lines, "..." inside a line for any text.  A block fenced
-- ```c FILE or ```lua FILE must stand in that file of the tree, which is run
-- elsewhere; C comes in no other way.  A block fenced ```console is a command
-- of the shell, behind "$ ", and what it prints.

-- Lua cannot change its folder: a shell starts this file again in a new one.
if arg[1] ~= "inside" then
  local function real(path)
    local f = assert(io.popen("realpath '" .. path .. "'"))
    local line = f:read("l")
    f:close()
    return line
  end
  local tests = real(arg[0]:gsub("lua/[^/]*$", ""))
  local ok, _, status = os.execute(("d=$(mktemp -d) && " ..
    "cp '%s'/data/onnx/* $d && ln -s '%s/../examples' $d && " ..
    "cd $d && '%s' '%s' inside; s=$?; rm -rf $d; exit $s"):format(
      tests, tests, real(arg[-1]), real(arg[0])))
  os.exit(ok and 0 or status)
end

local here = arg[0]:match("^(.*)/tests/lua/[^/]+$") or "."

local function documents()
  local list = { here .. "/README.md" }
  local f = assert(io.popen("ls '" .. here .. "'/docs/*.md"))
  for line in f:lines() do list[#list + 1] = line end
  f:close()
  return list
end

-- The fenced blocks of a document: { kind =, text =, line = }.
local function blocks(path)
  local list, block, n = {}, nil, 0
  for line in io.lines(path) do
    n = n + 1
    local fence = line:match("^```(.*)$")
    if fence and not block then
      block = { kind = fence, text = {}, line = n + 1 }
    elseif fence then
      block.text = table.concat(block.text, "\n") .. "\n"
      list[#list + 1] = block
      block = nil
    elseif block then
      block.text[#block.text + 1] = line
    end
  end
  return list
end

-- Does `got` fit `want`, line by line, with "..." as said above?
local function fits(want, got, i, j)
  i, j = i or 1, j or 1
  while i <= #want do
    if want[i] == "..." then
      for k = j, #got + 1 do
        if fits(want, got, i + 1, k) then return true end
      end
      return false
    end
    if j > #got then return false end
    local pattern = want[i]:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0")
                           :gsub("%%%.%%%.%%%.", ".*")
    if not got[j]:match("^" .. pattern .. "$") then return false end
    i, j = i + 1, j + 1
  end
  return j == #got + 1
end

local function lines(text)
  local list = {}
  for line in text:gmatch("([^\n]*)\n") do
    list[#list + 1] = (line:gsub("%s+$", ""))
  end
  while #list > 0 and list[#list] == "" do list[#list] = nil end
  return list
end

-- An error's text is shown without what follows its first line.
local function check_fits(want, got, place)
  if fits(lines(want), lines(got)) then return end
  io.stderr:write(got)
  error(place .. ": the above was printed, not this", 0)
end

-- Is a block of code what the file that it names says?
local function check_excerpt(block, place)
  local name = block.kind:match("^%l+ (%S+)$")
  if not name then error(place .. ": C that names no file", 0) end
  local f = assert(io.open(here .. "/" .. name))
  local text = f:read("a")
  f:close()
  if not text:find(block.text, 1, true) then
    error(("%s: this does not stand in %s"):format(place, name), 0)
  end
end

-- Does the command of a block print what the block says?
local function check_console(block, place)
  local command, want = block.text:match("^%$ ([^\n]*)\n(.*)$")
  if not command then error(place .. ": a console without a command", 0) end
  local folder = arg[-1]:match("^(.*)/")
  local f = assert(io.popen(("PATH='%s':$PATH; %s"):format(folder, command)))
  local got = f:read("a")
  if not f:close() then error(place .. ": the command fails", 0) end
  check_fits(want, got, place)
end

local function run_document(path)
  local printed = {}
  local env = setmetatable({
    print = function(...)
      local parts = table.pack(...)
      for i = 1, parts.n do parts[i] = tostring(parts[i]) end
      printed[#printed + 1] = table.concat(parts, "\t") .. "\n"
    end,
  }, { __index = _G })
  local ran = 0
  for _, block in ipairs(blocks(path)) do
    local place = ("%s:%d"):format(path, block.line)
    if block.kind == "lua" then
      printed = {}
      local chunk = assert(load(("\n"):rep(block.line - 1) .. block.text,
                                "@" .. path, "t", env))
      chunk()
      ran = ran + 1
    elseif block.kind:match("^c%f[%W]") or block.kind:match("^lua ") then
      check_excerpt(block, place)
    elseif block.kind == "console" then
      check_console(block, place)
    elseif block.kind == "python" then
      printed = nil                     -- tests/python/docs.py runs it
    elseif block.kind == "output" and printed then
      check_fits(block.text, table.concat(printed), place)
    end
  end
  return ran
end

local total = 0
for _, path in ipairs(documents()) do
  local n = run_document(path)
  print(("%s: %d blocks"):format(path, n))
  total = total + n
end
assert(total > 0, "no document has a block")
