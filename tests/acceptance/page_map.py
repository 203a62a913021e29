# SPDX-License-Identifier: Apache-2.0
"""The map of the ground on the live page, for tests that have a browser open there: of a stream `yard`."""
import re

# Where pixels of the map are red, as cells with the most seconds are: left, top, right, bottom, of its left and of its right half; and
# the length of the scale.
MAP = """(() => {
  const canvas = document.querySelector('[data-stream=yard] .map canvas'), {width, height} = canvas;
  const data = canvas.getContext('2d').getImageData(0, 0, width, height).data;
  const is = (x, y, test) => test(data[4 * (y * width + x)], data[4 * (y * width + x) + 1], data[4 * (y * width + x) + 2]);
  const boxes = [[width, height, 0, 0], [width, height, 0, 0]];
  let bar = 0;
  for (let y = 0; y < height; ++y) {
    let run = 0;
    for (let x = 0; x < width; ++x) {
      if (y < height - 34 && is(x, y, (r, g, b) => r > 200 && g < 40 && b < 40)) {
        const box = boxes[x < width / 2 ? 0 : 1];
        boxes[x < width / 2 ? 0 : 1] = [Math.min(box[0], x), Math.min(box[1], y), Math.max(box[2], x + 1), Math.max(box[3], y + 1)];
      }
      run = is(x, y, (r, g, b) => r === 0xdf && g === 0xe5 && b === 0xea) ? run + 1 : 0;
      bar = Math.max(bar, run);
    }
  }
  return [boxes, bar, canvas.title, canvas.parentNode.textContent];
})()"""


def see_map(browser, send):
    """Heat in metres is a map whose scale fits the cells, x to the right and y up. `send` sends cells of half a metre."""
    assert browser.evaluate("document.querySelector('[data-stream=yard] .map').hidden")
    send([[-3, -2, 60], [16, 7, 60], [-3, 7, 1]])
    browser.wait_for("!document.querySelector('[data-stream=yard] .map').hidden")
    browser.wait_for("document.querySelector('[data-stream=yard] .map canvas').title")
    (left, right), bar, title, words = browser.evaluate(MAP)
    metre = (right[2] - left[0]) / 10  # 20 cells of half a metre
    for box in (left, right):
        assert abs(box[2] - box[0] - metre / 2) <= 2 and abs(box[3] - box[1] - metre / 2) <= 2, (left, right)
    assert abs(left[3] - right[1] - 5 * metre) <= 2, (left, right)  # y goes up
    told = float(re.match(r"The bar is ([0-9.]+) m", title)[1])
    assert abs(bar - told * metre) <= 2, (bar, title, metre)
    assert "cells of 0.5\u00a0m" in words and "far away" not in words, words
    # One who was very far away for a moment makes nothing small.
    send([[5000, 9000, 0.1]])
    browser.wait_for("document.querySelector('[data-stream=yard] .map').textContent.includes('and 1 far away')")
    assert abs(browser.evaluate(MAP)[0][1][2] - right[2]) <= 2
