-- Reads files line by line.

local find, sub = string.find, string.sub
local concat = table.concat

local BLOCK_SIZE = 65536
-- Of a longer line only this much is kept, so that a file without newlines cannot fill the memory. Web servers accept
-- request lines of some 8 KB.
local LONGEST_LINE = 1048576

--- Iterates over the lines of an open file, without their newlines; the last line needs none.
-- Reads blocks: that is faster than file:lines() and keeps the zero bytes that file:lines() of Lua 5.1 loses.
-- @return the iterator, and a table whose field `problem` says why reading stopped when that was not the end
local function lines(file)
  local block, position = "", 1
  local state = {}

  local function next_block()
    local more, problem = file:read(BLOCK_SIZE)
    state.problem = problem
    return more
  end

  -- The line that starts at the end of this block and goes on in the next ones; nil when there is nothing left.
  local function spanning_line()
    local pieces = { sub(block, position) }
    local length = #pieces[1]
    block, position = "", 1
    local stop
    repeat
      local more = next_block()
      if not more then
        if length == 0 then
          return nil
        end
        break
      end
      stop = find(more, "\n", 1, true)
      if length < LONGEST_LINE then
        pieces[#pieces + 1] = sub(more, 1, (stop or 0) - 1)
        length = length + #pieces[#pieces]
      end
      if stop then
        block, position = more, stop + 1
      end
    until stop
    return sub(concat(pieces), 1, LONGEST_LINE)
  end

  local function next_line()
    local stop = find(block, "\n", position, true)
    if not stop then
      return spanning_line()
    end
    local line = sub(block, position, stop - 1)
    position = stop + 1
    return line
  end

  return next_line, state
end

return lines
