-- SPDX-License-Identifier: Apache-2.0
-- Assembly beside the loops that it came from, which comments name
-- ("%loop.k"), with the cycles of innermost loops by llvm-mca.
local assembly = {}

local function lines_of(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end

-- The innermost loops: { name, label, at, first, last }: the line of the label,
-- and those from behind what is said of it to the jump back.
function assembly.inner_loops(list)
  local found, label, name, head = {}, nil, nil, nil
  for i, line in ipairs(list) do
    local begun, block = line:match "^(%.LBB[%d_]+):.*# %%(%S+)"
    if begun then label, name, head = begun, block, i end
    if label and line:find "This Inner Loop Header" then
      found[#found + 1] = { name = name, label = label, at = head, first = i }
    end
    local open = found[#found]
    if open and not open.last and
       line:find("^%s+j%w+%s+" .. open.label:gsub("%.", "%%.") .. "%f[^%w_]")
    then
      open.last = i
    end
  end
  return found
end

local function tool()
  for _, name in ipairs { "llvm-mca-19", "llvm-mca" } do
    local p = io.popen("command -v " .. name)
    local path = p:read "l"
    p:close()
    if path then return path end
  end
end

-- The loops as regions of llvm-mca's.
local function write_regions(path, list, loops)
  local f <close> = assert(io.open(path, "w"))
  for k, l in ipairs(loops) do
    f:write("# LLVM-MCA-BEGIN r", k, "\n")
    for i = l.first, l.last do f:write(list[i], "\n") end
    f:write "# LLVM-MCA-END\n"
  end
end

-- Cycles of an iteration of each loop, by number; or nil and why.
local function cycles_of(list, loops, cpu)
  local mca, path = tool(), os.tmpname()
  if not mca then return nil, "llvm-mca (package llvm-19) is not installed" end
  write_regions(path, list, loops)
  local p = io.popen(("%s -mcpu=%s -iterations=100 %s 2>&1"):format(mca, cpu,
                                                                     path))
  local text, cycles = p:read "a", {}
  p:close()
  os.remove(path)
  for k, total in text:gmatch "%- r(%d+)\n.-Total Cycles:%s+(%d+)" do
    cycles[math.tointeger(tonumber(k))] = tonumber(total) / 100
  end
  if next(cycles) == nil then
    return nil, "llvm-mca: " .. (text:match "error: ([^\n]*)" or "no answer")
  end
  return cycles
end

-- The text of an assembly for a processor, with a line in front of each
-- innermost loop; and in a line what is missing.
function assembly.annotated(text, cpu)
  local list, loops = lines_of(text), {}
  for _, l in ipairs(assembly.inner_loops(list)) do
    if l.last then loops[#loops + 1] = l end
  end
  local cycles, why = {}, nil
  if #loops > 0 then cycles, why = cycles_of(list, loops, cpu) end
  local before = {}
  for k, l in ipairs(loops) do
    before[l.at] = cycles and cycles[k] and
      ("# loop %s: %.2f cycles an iteration, by llvm-mca for %s"):format(
        (l.name:gsub("^loop%.", "")), cycles[k], cpu) or nil
  end
  local out = {}
  for i, line in ipairs(list) do
    if before[i] then out[#out + 1] = before[i] end
    out[#out + 1] = line
  end
  return table.concat(out, "\n"), why
end

return assembly
