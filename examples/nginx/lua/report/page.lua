-- The figures as a page that needs no script and loads itself anew.

local style = require "report.style"
local text = require "report.text"

local format = string.format
local max, min = math.max, math.min
local concat = table.concat

local page = {}

local FRAME = [[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="refresh" content="2"/>
<title>What the sketches know</title>
<style>
%s</style>
</head>
<body>
<header><h1>What the sketches know</h1><p>%s UTC, anew every 2 seconds</p></header>
<div class="tiles">
%s</div>
<main>
%s</main>
</body>
</html>
]]

-- Below, `share` is a part of 1, the length of a bar.

local function tile(figure, words)
  return format('<div class="card tile"><b>%s</b><span>%s</span></div>\n', text.html(figure), text.html(words))
end

local function row(words, figure, share)
  return format('<tr><th scope="row"><span>%s</span><svg viewBox="0 0 100 1" preserveAspectRatio="none" '
    .. 'aria-hidden="true"><rect width="%.2f" height="1"/></svg></th><td>%s</td></tr>\n', text.html(words),
    100 * share, text.html(figure))
end

local function card(heading, note, rows)
  return format('<section class="card">\n<h2>%s</h2>\n<p>%s</p>\n<table>\n%s</table>\n</section>\n',
    text.html(heading), text.html(note), concat(rows))
end

local function share_of(part, whole)
  return whole > 0 and min(part / whole, 1) or 0
end

-- A row for each item, with a bar relative to the largest of what number(item) gives and show() writes.
local function rows(list, name, number, show)
  local most, made = 0, {}
  for _, item in ipairs(list) do
    most = max(most, number(item))
  end
  for i, item in ipairs(list) do
    made[i] = row(name(item), show(number(item)), share_of(number(item), most))
  end
  return made
end

local function hot_urls(figures)
  return card("Hot URLs", format("Requests, halved every %s; for 99 in 100 URLs at most %s too many",
    text.seconds(figures.half_life), text.integer(figures.error_bound)), rows(figures.urls,
    function(hot) return text.url(hot.url) end,
    function(hot) return hot.requests end, text.integer))
end

local function latency(location)
  local period = location.period
  return card("Latency of " .. location.name, format("Of the last %s to %s, within 1 %%",
    text.seconds(period / 2), text.seconds(1.5 * period)), rows(location.percentiles,
    function(percentile) return format("%g %% within", 100 * percentile.q) end,
    function(percentile) return percentile.seconds end, text.seconds))
end

local function visitors(figures)
  return card("Visitors a day", format("%s in seven days; standard error %s", text.integer(figures.week),
    text.percent(figures.standard_error)), rows(figures.days,
    function(day) return day.date end,
    function(day) return day.visitors end, text.integer))
end

local function cache(figures)
  local function part(words, number)
    return row(words, text.integer(number), share_of(number, figures.cacheable))
  end
  return card("Cache", format("%s requests; %s different URLs this turn, %s of new ones taken for known",
    text.integer(figures.cacheable), text.integer(figures.keys), text.percent(figures.fp_rate)), {
    part("answered from the cache", figures.hits),
    part("asked for the first time, not kept", figures.kept_out),
  })
end

function page.render(figures)
  local requests, cards = 0, { hot_urls(figures.hot_urls) }
  for _, location in ipairs(figures.locations) do
    requests = requests + location.requests
    cards[#cards + 1] = latency(location)
  end
  cards[#cards + 1] = visitors(figures.visitors)
  cards[#cards + 1] = cache(figures.admission)

  local listed = figures.blocklist
  local tiles = {
    tile(text.integer(requests), "requests"),
    tile(text.integer(figures.visitors.today), "visitors today"),
    tile(text.percent(share_of(figures.admission.hits, figures.admission.cacheable)), "from the cache"),
    tile(text.integer(listed.refused), format("refused; %s on the list", text.integer(listed.entries))),
  }
  return format(FRAME, style, os.date("!%Y-%m-%d %H:%M:%S", figures.time), concat(tiles), concat(cards))
end

return page
