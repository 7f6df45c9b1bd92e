-- SPDX-License-Identifier: Apache-2.0
-- Refusing a schedule, and trying what may be refused.
local attempts = {}

-- Ends a step of a module, for that reason: what is tried by `attempt` is
-- dropped; else the module is not applicable.  With arguments the text is a
-- format of them.
function attempts.refuse(text, ...)
  error({ code = "REFUSED",
          message = select("#", ...) > 0 and text:format(...) or text }, 0)
end

-- A copy of the schedule on which f has been, and what it gave; or nil and why
-- something that f does is refused.
function attempts.attempt(sch, f, ...)
  local copy = sch:copy()
  local ok, e = pcall(f, copy, ...)
  if ok then return copy, e end
  if type(e) == "string" or e.code ~= "REFUSED" then error(e, 0) end
  return nil, e.message
end

return attempts
