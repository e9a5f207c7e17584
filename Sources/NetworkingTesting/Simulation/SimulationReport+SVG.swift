extension SimulationReport {
    /// Draws the run as an SVG: load and goodput, requests to the servers, and the latency over time.
    ///
    /// - Parameters:
    ///   - name: The name of the stack in the legend.
    ///   - title: A line at the top, of about 75 characters at most: what the picture shows.
    /// - Returns: The text of the picture, for light and dark pages.
    public func svg(_ name: String = "stack", title: String? = nil) -> String {
        SimulationReport.svg(comparing: [name: self], title: title)
    }

    /// Draws runs of the same simulation with different stacks as one SVG.
    ///
    /// - Parameters:
    ///   - reports: The reports with the names of their stacks, at most four.
    ///   - title: A line at the top, of about 75 characters at most: what the picture shows.
    /// - Returns: The text of the picture, for light and dark pages.
    /// - Precondition: There are one to four reports, and all have the same interval.
    public static func svg(
        comparing reports: KeyValuePairs<String, SimulationReport>,
        title: String? = nil
    ) -> String {
        precondition((1...4).contains(reports.count), "one to four reports can be compared (are \(reports.count))")
        let interval = reports[0].value.interval
        precondition(
            reports.allSatisfy { $0.value.interval == interval },
            "all reports must have the interval \(interval)"
        )
        return SimulationChart(title: title, reports: Array(reports), interval: interval).svg
    }
}

/// The picture of one or more runs.
private struct SimulationChart {
    let title: String?
    let reports: [(key: String, value: SimulationReport)]
    let interval: Range<Duration>

    private static let (left, right, width) = (64.0, 744.0, 760.0)
    private static let panelHeight = 130.0
    private static let buckets = 120

    private var start: Double { interval.lowerBound / .seconds(1) }
    private var end: Double { interval.upperBound / .seconds(1) }
    private var bucket: Double { (end - start) / Double(Self.buckets) }

    var svg: String {
        let panels: [(title: String, lines: [Line])] = [
            ("Successful calls per second; gray: all calls", [offered] + lines { goodput(of: $0) }),
            ("Requests to the servers per second", lines { rate($0.sent) }),
            ("99 % of the successful calls took at most (seconds)", lines { latency(of: $0) }),
        ]
        let top = heading + 52
        let height = top + Double(panels.count) * (Self.panelHeight + 58)
        var parts = [header(height), legend]
        for (index, panel) in panels.enumerated() {
            parts.append(draw(panel.title, panel.lines, at: top + Double(index) * (Self.panelHeight + 58)))
        }
        return (parts + ["</svg>"]).joined(separator: "\n") + "\n"
    }

    /// The height of the title.
    private var heading: Double {
        title == nil ? 0 : 28
    }

    private struct Line {
        let style: String
        /// A value for each part of the interval; `nil` where there is none.
        let values: [Double?]
    }

    private func lines(_ values: (SimulationReport) -> [Double?]) -> [Line] {
        reports.enumerated().map { Line(style: "s\($0.offset)", values: values($0.element.value)) }
    }

    // MARK: Values

    private func index(of moment: Double) -> Int {
        min(max(0, Int((moment - start) / bucket)), Self.buckets - 1)
    }

    private func rate(_ moments: some Sequence<Double>) -> [Double] {
        var values = Array(repeating: 0.0, count: Self.buckets)
        for moment in moments where moment < end {
            values[index(of: moment)] += 1 / bucket
        }
        return values
    }

    private var offered: Line {
        Line(style: "offered", values: rate(reports[0].value.records.lazy.map(\.start)))
    }

    private func goodput(of report: SimulationReport) -> [Double] {
        rate(report.records.lazy.filter { $0.failure == nil }.map(\.start))
    }

    private func latency(of report: SimulationReport) -> [Double?] {
        let successes = report.records.filter { $0.failure == nil }
        let parts = Dictionary(grouping: successes) { index(of: $0.start) }
        return (0..<Self.buckets).map { parts[$0].map { report.percentile(99, of: $0) } }
    }

    // MARK: Drawing

    private func header(_ height: Double) -> String {
        let names = reports.map { escaped($0.key) }.joined(separator: ", ")
        let line = title.map { "\n<text x=\"\(Int(Self.left))\" y=\"28\" class=\"bold title\">\(escaped($0))</text>" }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(Self.width)) \(Int(height))" \
            width="\(Int(Self.width))" height="\(Int(height))" role="img" aria-labelledby="title description">
            <title id="title">\(title.map(escaped) ?? "A simulation of \(names)")</title>
            <desc id="description">Successful calls, requests to the servers and latency over time, seed \
            \(reports[0].value.seed)</desc>
            <style>
            text { font: 13px -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif; fill: #1f2328 }
            .bold { font-weight: 600 } .title { font-size: 15px } .page { fill: #ffffff } .grid { stroke: #d1d9e0 } \
            .quiet { fill: #59636e } polyline { fill: none; stroke-width: 2; stroke-linejoin: round }
            .offered { stroke: #8b949e } .s0 { stroke: #cf222e } .s1 { stroke: #0969da } .s2 { stroke: #1a7f37 } \
            .s3 { stroke: #bf8700 }
            @media (prefers-color-scheme: dark) { text { fill: #f0f6fc } .page { fill: #0d1117 } .grid { stroke: \
            #3d444d } .quiet { fill: #9198a1 } .s0 { stroke: #f85149 } .s1 { stroke: #4493f8 } .s2 { stroke: \
            #3fb950 } .s3 { stroke: #d29922 } }
            </style>
            <rect class="page" width="\(Int(Self.width))" height="\(Int(height))" rx="8"/>\(line ?? "")
            """
    }

    private var legend: String {
        let place = (Self.right - Self.left) / Double(reports.count)
        return reports.enumerated()
            .map { index, report in
                let (x, y) = (Int(Self.left + Double(index) * place), Int(heading) + 26)
                return """
                    <polyline class="s\(index)" points="\(x),\(y) \(x + 20),\(y)"/>
                    <text x="\(x + 28)" y="\(y + 5)">\(escaped(report.key))</text>
                    """
            }
            .joined(separator: "\n")
    }

    private func draw(_ title: String, _ lines: [Line], at top: Double) -> String {
        let maximum = ceiling(of: lines.flatMap(\.values).compactMap(\.self).max() ?? 0)
        let bottom = top + 22 + Self.panelHeight
        var parts = ["<text x=\"\(Int(Self.left))\" y=\"\(Int(top + 12))\" class=\"bold\">\(title)</text>"]
        for step in 0...2 {
            let y = Int(bottom - Self.panelHeight * Double(step) / 2)
            parts.append(
                """
                <path class="grid" d="M\(Int(Self.left)) \(y)H\(Int(Self.right))"/>
                <text class="quiet" x="\(Int(Self.left) - 8)" y="\(y + 4)" text-anchor="end">\
                \(label(maximum * Double(step) / 2))</text>
                """
            )
        }
        for step in 0...4 {
            let x = Int(Self.left + (Self.right - Self.left) * Double(step) / 4)
            let anchor = step == 0 ? "start" : step == 4 ? "end" : "middle"
            let moment = start + (end - start) * Double(step) / 4
            parts.append(
                "<text class=\"quiet\" x=\"\(x)\" y=\"\(Int(bottom) + 18)\" text-anchor=\"\(anchor)\">"
                    + "\(time(moment))</text>"
            )
        }
        for line in lines {
            // A line ends where there is no value.
            for part in line.values.enumerated().split(whereSeparator: { $0.element == nil }) {
                let points = part.map { index, value in
                    let x = Self.left + (Self.right - Self.left) * (Double(index) + 0.5) / Double(Self.buckets)
                    return "\(x.tenths),\((bottom - Self.panelHeight * (value ?? 0) / maximum).tenths)"
                }
                parts.append("<polyline class=\"\(line.style)\" points=\"\(points.joined(separator: " "))\"/>")
            }
        }
        return parts.joined(separator: "\n")
    }

    /// Returns the end of a scale: the next number of which the half has at most two digits.
    private func ceiling(of value: Double) -> Double {
        guard value > 0 else { return 1 }
        var unit = 0.001
        while unit * 10 < value {
            unit *= 10
        }
        return [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10].map { $0 * unit }.first { $0 >= value } ?? 10 * unit
    }

    /// Returns a moment in minutes for a run of 10 minutes or more, otherwise in seconds.
    private func time(_ moment: Double) -> String {
        end - start >= 600 ? "\(label(moment / 60)) min" : "\(label(moment)) s"
    }

    private func label(_ value: Double) -> String {
        value == value.rounded() ? "\(Int(value))" : "\((value * 10_000).rounded() / 10_000)"
    }

    private func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
