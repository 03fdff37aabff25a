-- The figures in the text format of Prometheus, version 0.0.4.

local text = require "report.text"

local format = string.format
local concat = table.concat

local metrics = {}

local ESCAPES = { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n" }

local function label(value)
  return '"' .. value:gsub('[\\"\n]', ESCAPES) .. '"'
end

-- Writes down metrics of one name: samples are { number, label, value, label, value ... }.
local function new_writer()
  local lines = {}

  local function write(name, kind, help, samples)
    lines[#lines + 1] = format("# HELP %s %s", name, help)
    lines[#lines + 1] = format("# TYPE %s %s", name, kind)
    for _, sample in ipairs(samples) do
      local labels = {}
      for i = 2, #sample, 2 do
        labels[#labels + 1] = sample[i] .. "=" .. label(sample[i + 1])
      end
      lines[#lines + 1] = format("%s%s %.15g", name, labels[1] and "{" .. concat(labels, ",") .. "}" or "", sample[1])
    end
  end

  return lines, write
end

local function each(list, sample)
  local samples = {}
  for i, item in ipairs(list) do
    samples[i] = sample(item)
  end
  return samples
end

local function percentiles(locations)
  local samples = {}
  for _, location in ipairs(locations) do
    for _, percentile in ipairs(location.percentiles) do
      samples[#samples + 1] = {
        percentile.seconds, "location", location.name, "quantile", format("%g", percentile.q),
      }
    end
  end
  return samples
end

function metrics.render(figures)
  local lines, write = new_writer()

  write("site_requests_total", "counter", "Requests that were answered, by location.",
    each(figures.locations, function(location) return { location.requests, "location", location.name } end))
  write("site_latency_seconds", "gauge", "Percentiles of the time that requests took of late.",
    percentiles(figures.locations))

  write("site_refused_total", "counter", "Requests of clients on the block-list.", { { figures.blocklist.refused } })
  write("site_blocklist_entries", "gauge", "Clients on the block-list, by estimate.", { { figures.blocklist.entries } })

  write("site_cacheable_total", "counter", "Requests for what the cache may have.", { { figures.admission.cacheable } })
  write("site_cache_hits_total", "counter", "Requests that were answered by the cache.", { { figures.admission.hits } })
  write("site_cache_kept_out_total", "counter", "Requests that the cache did not keep the answer of.",
    { { figures.admission.kept_out } })
  write("site_admission_keys", "gauge", "Different keys that the cache was asked for in this turn, by estimate.",
    { { figures.admission.keys } })

  write("site_visitors", "gauge", "Different clients of a day, by estimate.",
    each(figures.visitors.days, function(day) return { day.visitors, "day", day.date } end))
  write("site_visitors_week", "gauge", "Different clients of the last seven days, by estimate.",
    { { figures.visitors.week } })

  -- Ten URLs at a time, but Prometheus keeps each that ever was among them.
  write("site_url_requests", "gauge", "Requests of late for each of the hottest URLs, by estimate.",
    each(figures.hot_urls.urls, function(hot) return { hot.requests, "url", text.url(hot.url) } end))

  return concat(lines, "\n") .. "\n"
end

return metrics
