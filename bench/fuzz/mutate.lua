-- SPDX-License-Identifier: Apache-2.0
-- Writes a copy of a source of schedule/, or of lowering, in which each check
-- and each row of faults.txt can be switched off, or on, while it runs; or the
-- list of rows, or of the sources of lowering that have some.
--
--   lua mutate.lua FAULTS ROOT SOURCE OUT     a copy of ROOT/SOURCE
--   lua mutate.lua FAULTS ROOT --rows OUT     rows for faulty.c
--   lua mutate.lua FAULTS ROOT --lowering     sources, one a line
--
-- A check is `return sch_refuse(s, REASON, ...);`: with REASON switched off
-- what follows goes on as if the check had passed.

local faults, root, source, out = ...

local function read(name)
  local f = assert(io.open(name, "rb"))
  local text = f:read "a"
  f:close()
  return text
end

local function write(name, text)
  local f = assert(io.open(name, "wb"))
  f:write(text)
  assert(f:close())
end

-- Rows: "= what is wrong", the file, then lines of what is right (-) and of
-- its replacement when the fault is on (+).
local function rows()
  local list, row = {}, nil
  for line in read(faults):gmatch "[^\n]+" do
    local mark, rest = line:sub(1, 1), line:sub(2)
    if mark == "=" then
      row = { what = rest:match "^%s*(.*)", right = {}, wrong = {} }
      list[#list + 1] = row
    elseif mark == "-" then
      table.insert(row.right, rest)
    elseif mark == "+" then
      table.insert(row.wrong, rest)
    elseif mark ~= "#" then
      row.file = line
    end
  end
  for i = 2, #list do
    assert(list[i].file:find "^lower/" or not list[i - 1].file:find "^lower/",
           "rows of lowering stand at the end of faults.txt")
  end
  return list
end

if source == "--rows" then
  local text = {}
  for i, r in ipairs(rows()) do
    text[i] = ("ROW(%q, %q)\n"):format(r.what, r.file)
  end
  write(out, table.concat(text))
  return
end

if source == "--lowering" then
  local seen = {}
  for _, r in ipairs(rows()) do
    if r.file:find "^lower/" and not seen[r.file] then print(r.file) end
    seen[r.file] = true
  end
  return
end

local text = read(root .. "/" .. source)

-- `s` without its white space, and the place in `s` of each character left.
local function squeeze(s)
  local left, places = {}, {}
  for at, c in s:gmatch "()(%S)" do
    left[#left + 1], places[#places + 1] = c, at
  end
  return table.concat(left), places
end

-- Replaces `old`, which must occur exactly once up to white space, by `new`:
-- a row without an effect would be a fault that nothing can detect.
local function replace(old, new, what)
  local squeezed, places = squeeze(text)
  local wanted = squeeze(old)
  local at, to = squeezed:find(wanted, 1, true)
  if not at or squeezed:find(wanted, to + 1, true) then
    io.stderr:write(("%s: the row \"%s\" of faults.txt finds its text %s\n")
                    :format(source, what,
                            at and "more than once" or "nowhere"))
    os.exit(1)
  end
  text = text:sub(1, places[at] - 1) .. new .. text:sub(places[to] + 1)
end

for i, r in ipairs(rows()) do
  if r.file == source then
    local right = table.concat(r.right, "\n")
    local wrong = table.concat(r.wrong, "\n")
    local form = right:find "[;}]%s*$"
                 and "{ if (faulty_row(%d)) {%s} else {%s} }"
                 or "(faulty_row(%d) ? %s : %s)"
    replace(right, form:format(i, wrong, right), r.what)
  end
end

-- A reason that is noted first, for a check that follows and says nothing or
-- gives another: only what is refused for that reason passes.
text = text:gsub("%(void%)sch_refuse(%b());%s*if (%b()) return false;",
                 "(void)faulty_note%1;\nif (%2 && !faulty_passes(s)) "
                 .. "return false;")
text = text:gsub("%(void%)sch_refuse(%b());%s*return ([^;]*%([^;]+);",
                 "(void)faulty_note%1;\nreturn (%2) || faulty_passes(s);")
-- The last statement of a function has nothing to go on to.
text = text:gsub("return sch_refuse(%b());\n}", "return sch_check%1;\n}")
text = text:gsub("return sch_refuse(%b());",
                 "{ if (!sch_check%1) return false; }")
text = text:gsub("%(void%)sch_refuse(%b());%s*return ([^;]+);",
                 "{ if (!sch_check%1) return %2; }")
text = text:gsub("([;{}]%s*)sch_refuse(%b());%s*return ([^;]+);",
                 "%1{ if (!sch_check%2) return %3; }")
text = text:gsub("return sch_refuse(%b()), ([%w_]+);",
                 "{ if (!sch_check%1) return %2; }")
text = text:gsub("sch_refuse%(", "sch_check(")

write(out, ("#line 1 \"%s/%s\"\n%s"):format(root, source, text))
