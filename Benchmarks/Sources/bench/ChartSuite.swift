import Foundation

/// Draws charts of what `bench tokens --json` and `bench http --json` printed.
struct ChartSuite {
    private let source: String
    private let folder: URL

    init(_ arguments: Arguments) throws {
        guard let source = arguments.source else { throw UsageError(text: "bench: charts requires --from FILE.") }
        self.source = source
        folder = URL(filePath: arguments.folder)
    }

    func run() throws {
        let lines = try String(contentsOfFile: source, encoding: .utf8).split(separator: "\n")
        let figures = try lines.map { try JSONDecoder().decode(Figure.self, from: Data($0.utf8)) }
        for chart in [tokens(figures), http(figures)] where !chart.groups.isEmpty {
            let file = folder.appending(path: chart.file)
            try Data(chart.svg.utf8).write(to: file)
            print(file.path)
        }
    }

    private func tokens(_ figures: [Figure]) -> BarChart {
        let wanted = ["HS256", "ES256", "RS256", "PS256", "EdDSA"].flatMap { ["\($0) sign", "\($0) verify"] }
        let groups = wanted.compactMap { name -> BarChart.Group? in
            guard
                let figure = figures.first(where: { $0.suite == "tokens" && $0.case == name }),
                let ours = figure.oursMicroseconds, let peer = figure.peerMicroseconds,
                let floor = figure.floorMicroseconds
            else { return nil }
            return BarChart.Group(
                name: name,
                bars: [ours, peer, floor].map { ($0 / peer, "\(Self.text($0)) µs") }
            )
        }
        return BarChart(
            file: "tokens-chart.svg",
            title: "CPU time per token, relative to jwt-kit (shorter is better)",
            series: ["this package", "jwt-kit", "OpenSSL alone"],
            groups: groups
        )
    }

    private func http(_ figures: [Figure]) -> BarChart {
        let groups = figures.filter { $0.suite == "http" }.compactMap { figure -> BarChart.Group? in
            guard let ours = figure.perCPUSecond else { return nil }
            let rates = [ours, figure.peerPerCPUSecond, figure.widePeerPerCPUSecond, figure.urlSessionPerCPUSecond]
            return BarChart.Group(
                name: figure.case,
                bars: rates.map { rate in (rate ?? 0, rate.map { "\(Int($0))" } ?? "–") }
            )
        }
        return BarChart(
            file: "http-chart.svg",
            title: "HTTP requests per second of CPU time (longer is better)",
            series: [
                "this package", "async-http-client, 8 connections", "async-http-client, 64 connections", "URLSession",
            ],
            groups: groups
        )
    }

    private static func text(_ microseconds: Double) -> String {
        String(format: microseconds < 10 ? "%.1f" : "%.0f", microseconds)
    }
}

/// A JSON line of another suite.
private struct Figure: Decodable {
    let suite: String
    let `case`: String
    let oursMicroseconds: Double?
    let peerMicroseconds: Double?
    let floorMicroseconds: Double?
    let perCPUSecond: Double?
    let peerPerCPUSecond: Double?
    let widePeerPerCPUSecond: Double?
    let urlSessionPerCPUSecond: Double?

    private enum CodingKeys: String, CodingKey {
        case suite, `case`
        case oursMicroseconds = "ours_us"
        case peerMicroseconds = "peer_us"
        case floorMicroseconds = "floor_us"
        case perCPUSecond = "per_cpu_s"
        case peerPerCPUSecond = "ahc_per_cpu_s"
        case widePeerPerCPUSecond = "ahc64_per_cpu_s"
        case urlSessionPerCPUSecond = "urlsession_per_cpu_s"
    }
}

/// Groups of horizontal bars as SVG, for light and dark pages.
private struct BarChart {
    struct Group {
        let name: String
        /// The length of a bar, in any unit, and its label.
        let bars: [(length: Double, label: String)]
    }

    let file: String
    let title: String
    let series: [String]
    let groups: [Group]

    private static let (width, left, barHeight, gap) = (800, 150, 14, 12)

    var svg: String {
        let longest = groups.flatMap(\.bars).map(\.length).max() ?? 1
        let scale = Double(Self.width - Self.left - 90) / longest
        let groupHeight = series.count * (Self.barHeight + 2) + Self.gap
        let top = 60 + 20 * ((series.count + 1) / 2)
        var body = ""
        for (index, name) in series.enumerated() {
            let (x, y) = (Self.left + index % 2 * 300, 56 + index / 2 * 20)
            body += "  <rect class=\"s\(index)\" x=\"\(x)\" y=\"\(y - 11)\" width=\"12\" height=\"12\"/>\n"
            body += "  <text x=\"\(x + 18)\" y=\"\(y)\">\(name)</text>\n"
        }
        for (row, group) in groups.enumerated() {
            let y = top + row * groupHeight
            let middle = y + (groupHeight - Self.gap) / 2 + 5
            body += "  <text class=\"name\" x=\"\(Self.left - 10)\" y=\"\(middle)\">\(group.name)</text>\n"
            for (index, bar) in group.bars.enumerated() {
                let (length, barY) = (max(1, Int(bar.length * scale)), y + index * (Self.barHeight + 2))
                body += """
                      <rect class="s\(index)" x="\(Self.left)" y="\(barY)" width="\(length)" height="\(Self.barHeight)"/>
                      <text class="label" x="\(Self.left + length + 6)" y="\(barY + 11)">\(bar.label)</text>

                    """
            }
        }
        let height = top + groups.count * groupHeight
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Self.width)" height="\(height)" \
            viewBox="0 0 \(Self.width) \(height)" role="img" aria-labelledby="title">
              <title id="title">\(title)</title>
              <style>
                :root { --ink: #1f2328; --quiet: #57606a; --s0: #0969da; --s1: #8c959f; --s2: #bf8700; --s3: #d0d7de }
                @media (prefers-color-scheme: dark) {
                  :root { --ink: #e6edf3; --quiet: #9da7b3; --s0: #58a6ff; --s1: #6e7681; --s2: #d29922; --s3: #484f58 }
                }
                text { fill: var(--ink); font: 14px system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif }
                .title { font-size: 16px; font-weight: 600 }
                .name { text-anchor: end }
                .label { font-size: 12px; fill: var(--quiet) }
                .s0 { fill: var(--s0) } .s1 { fill: var(--s1) } .s2 { fill: var(--s2) } .s3 { fill: var(--s3) }
              </style>
              <text class="title" x="\(Self.left)" y="26">\(title)</text>
            \(body)</svg>

            """
    }
}
