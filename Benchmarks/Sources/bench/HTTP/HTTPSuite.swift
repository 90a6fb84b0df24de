import Foundation

/// Small JSON responses over keep-alive connections: `NetworkClient` with a token and a retry
/// policy against async-http-client and URLSession, and against its own transport.
struct HTTPSuite {
    private let arguments: Arguments

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func run() async throws {
        for signature in SignatureCase.all where arguments.wants(signature.name) {
            HTTPReport(isJSON: arguments.isJSON).add(try await signature.measure(rounds: arguments.rounds))
        }
        if arguments.only?.hasPrefix("signed") ?? false { return }
        try PrivateTrust.enter()
        for chain in ChainCase.all where arguments.wants(chain.name) {
            HTTPReport(isJSON: arguments.isJSON).add(
                chain.name,
                cost: try await chain.measure(rounds: arguments.rounds)
            )
        }
        if arguments.only?.hasPrefix("chain") ?? false { return }
        let server = try BenchmarkServer()
        defer { server.stop() }
        try PrivateTrust.add(server.certificate)
        let report = HTTPReport(isJSON: arguments.isJSON)
        report.begin(hasTrust: PrivateTrust.file != nil)
        for scheme in ["plain", "TLS"] {
            guard scheme == "plain" || PrivateTrust.file != nil else { continue }
            for tasks in [1, 32, 256] {
                for token in tasks == 32 ? [FixedToken.short, .long] : [.short] {
                    let size = token.text == FixedToken.short.text ? "" : ", token of 1000 bytes"
                    let name = "\(scheme) \(tasks) \(tasks == 1 ? "task" : "tasks")\(size)"
                    guard arguments.wants(name) else { continue }
                    let url = scheme == "plain" ? server.plain : server.secure
                    report.add(try await measure(name, url: url, tasks: tasks, token))
                }
            }
        }
    }

    /// The number of rounds before all clients are recreated.
    ///
    /// async-http-client is fast or slow depending on how it distributes its connections over its
    /// threads, so one instance isn't representative.
    private static let roundsPerClient = 3

    private func measure(_ name: String, url: URL, tasks: Int, _ token: FixedToken) async throws -> HTTPComparison {
        var turns: [[HTTPFigures]] = []
        var floors: [Double] = []
        var pairs: [HTTPLayer.Pair] = []
        for _ in 0..<max(1, arguments.rounds / Self.roundsPerClient) {
            let (rounds, floor) = try await compare(url: url, tasks: tasks, token)
            floors += floor
            turns = turns.isEmpty ? rounds : zip(turns, rounds).map { $0 + $1 }
            pairs += try await compareLayer(url: url, tasks: tasks, token)
        }
        return HTTPComparison(
            name: name,
            ours: HTTPFigures(middleOf: turns[0]),
            layer: HTTPLayer(pairs),
            peer: HTTPFigures(middleOf: turns[1]),
            tunedPeer: HTTPFigures(middleOf: turns[2]),
            session: HTTPFigures(middleOf: turns[3]),
            floor: HTTPFigures.middle(floors)
        )
    }

    /// Measures new clients that send the same header fields: ours, async-http-client with its
    /// defaults and with 64 connections, URLSession, and libcurl in C.
    private func compare(
        url: URL,
        tasks: Int,
        _ token: FixedToken
    ) async throws -> (turns: [[HTTPFigures]], floors: [Double]) {
        let fields = HTTPSide.clientFields(token)
        let sides = [
            try HTTPSide.client(url, token),
            HTTPSide.asyncHTTPClient(url, fields),
            HTTPSide.asyncHTTPClient(url, fields, connections: 64),
            HTTPSide.urlSession(url, fields),
        ]
        let floor = try LibcurlSide(url, fields, tasks: tasks)
        var (turns, floors): ([[HTTPFigures]], [Double]) = (sides.map { _ in [] }, [])
        for side in sides { _ = try await side.run(tasks: tasks, nanoseconds: 200_000_000) }
        _ = try floor.run(nanoseconds: 200_000_000)
        for _ in 0..<Self.roundsPerClient {
            for (index, side) in sides.enumerated() {
                turns[index].append(try await side.run(tasks: tasks, nanoseconds: 100_000_000))
            }
            floors.append(try floor.run(nanoseconds: 100_000_000))
        }
        for side in sides { try await side.stop() }
        return (turns, floors)
    }

    /// Measures NetworkClient and its transport in many short turns, each equally often first,
    /// because they differ little.
    private func compareLayer(url: URL, tasks: Int, _ token: FixedToken) async throws -> [HTTPLayer.Pair] {
        let (client, base) = (
            try HTTPSide.client(url, token), try HTTPSide.transport(url, headers: HTTPSide.clientFields(token))
        )
        var pairs: [HTTPLayer.Pair] = []
        for side in [client, base] { _ = try await side.run(tasks: tasks, nanoseconds: 200_000_000) }
        for _ in 0..<2 * Self.roundsPerClient {
            for isFirst in [true, false] {
                let early = try await (isFirst ? client : base).run(tasks: tasks, nanoseconds: 30_000_000)
                let late = try await (isFirst ? base : client).run(tasks: tasks, nanoseconds: 30_000_000)
                pairs.append(isFirst ? (early, late) : (late, early))
            }
        }
        for side in [client, base] { try await side.stop() }
        return pairs
    }
}

/// The figures of one case.
struct HTTPComparison {
    let name: String
    let ours: HTTPFigures
    let layer: HTTPLayer
    /// async-http-client with its default of 8 connections.
    let peer: HTTPFigures
    /// async-http-client with 64 connections, our default.
    let tunedPeer: HTTPFigures
    let session: HTTPFigures
    /// The requests of libcurl in C per CPU second.
    let floor: Double

    /// Our requests per CPU second divided by those of libcurl in C.
    var againstFloor: Double { ours.perProcessorSecond / floor }
    /// Our requests per CPU second divided by those of async-http-client.
    var againstPeer: Double { ours.perProcessorSecond / peer.perProcessorSecond }
    /// Our requests per CPU second divided by those of async-http-client with 64 connections.
    var againstTunedPeer: Double { ours.perProcessorSecond / tunedPeer.perProcessorSecond }
    /// Our requests per CPU second divided by those of URLSession.
    var againstSession: Double { ours.perProcessorSecond / session.perProcessorSecond }
}

/// NetworkClient compared with its transport.
struct HTTPLayer {
    let client: HTTPFigures
    /// The transport with the header fields that the client sends.
    let base: HTTPFigures
    /// The CPU time that the client adds to a request, in microseconds: the median of the pairs.
    let cost: Double

    /// Two consecutive turns.
    typealias Pair = (client: HTTPFigures, base: HTTPFigures)

    init(_ pairs: [Pair]) {
        client = HTTPFigures(middleOf: pairs.map(\.client))
        base = HTTPFigures(middleOf: pairs.map(\.base))
        let costs = pairs.map { 1e6 / $0.client.perProcessorSecond - 1e6 / $0.base.perProcessorSecond }
        cost = costs.sorted()[costs.count / 2]
    }

    /// The cost divided by that of the transport.
    var overhead: Double { cost * base.perProcessorSecond / 1e6 }
}

/// A table, or one JSON object per line.
struct HTTPReport {
    let isJSON: Bool

    func begin(hasTrust: Bool) {
        guard !isJSON else { return }
        print("requests per second, per CPU second of the client, and median latency in µs; one nginx on loopback")
        if !hasTrust {
            print("Without TLS: URLSession trusts only system certificates. Run as root, with unshare and mount.")
        }
        print(
            "AHC: async-http-client with 8 connections, its default, and with 64; per CPU second unless marked /s"
        )
        print(
            row(
                "case",
                [
                    "ours/s", "ours", "µs", "AHC/s", "AHC", "µs", "AHC 64/s", "AHC 64", "µs", "URLS", "libcurl",
                    "× AHC", "× AHC 64", "× URLS", "× libcurl", "client +",
                ]
            )
        )
        fflush(nil)
    }

    func add(_ name: String, cost: Double) {
        let figure = String(format: "%.3f", cost)
        print(
            isJSON
                ? #"{"suite":"http","case":"\#(name)","cost_us":\#(figure)}"#
                : "\(name): \(figure) µs of CPU time in addition to the transport's"
        )
        fflush(nil)
    }

    func add(_ cost: SignatureCase.Cost) {
        let (added, alone) = (String(format: "%.3f", cost.added), String(format: "%.3f", cost.alone))
        let mallocs = (String(format: "%.0f", cost.mallocs), String(format: "%.0f", cost.aloneMallocs))
        print(
            isJSON
                ? #"{"suite":"http","case":"\#(cost.name)","added_us":\#(added),"alone_us":\#(alone),"#
                    + #""mallocs":\#(mallocs.0),"alone_mallocs":\#(mallocs.1)}"#
                : "\(cost.name): \(added) µs of CPU time in addition to \(alone) µs for the signature alone, "
                    + "\(mallocs.0) mallocs instead of \(mallocs.1)"
        )
        fflush(nil)
    }

    func add(_ comparison: HTTPComparison) {
        let (ours, peer, session) = (comparison.ours, comparison.peer, comparison.session)
        if isJSON {
            let figures: [(String, Double)] = [
                ("per_s", ours.perSecond), ("per_cpu_s", ours.perProcessorSecond), ("latency_us", ours.medianLatency),
                ("ahc_per_s", peer.perSecond), ("ahc_per_cpu_s", peer.perProcessorSecond),
                ("ahc_latency_us", peer.medianLatency),
                ("ahc64_per_s", comparison.tunedPeer.perSecond),
                ("ahc64_per_cpu_s", comparison.tunedPeer.perProcessorSecond),
                ("ahc64_latency_us", comparison.tunedPeer.medianLatency),
                ("urlsession_per_s", session.perSecond), ("urlsession_per_cpu_s", session.perProcessorSecond),
                ("urlsession_latency_us", session.medianLatency),
                ("libcurl_per_cpu_s", comparison.floor),
                ("client_per_s", comparison.layer.client.perSecond),
                ("client_per_cpu_s", comparison.layer.client.perProcessorSecond),
                ("fields_per_cpu_s", comparison.layer.base.perProcessorSecond),
                ("vs_ahc", comparison.againstPeer),
                ("vs_ahc64", comparison.againstTunedPeer), ("vs_urlsession", comparison.againstSession),
                ("vs_libcurl", comparison.againstFloor),
                ("client_overhead", comparison.layer.overhead), ("client_cost_us", comparison.layer.cost),
            ]
            let members = figures.map { "\"\($0)\":\(String(format: "%.3f", $1))" }.joined(separator: ",")
            print("{\"suite\":\"http\",\"case\":\"\(comparison.name)\",\(members)}")
        } else {
            let counts = [
                ours.perSecond, ours.perProcessorSecond, ours.medianLatency, peer.perSecond, peer.perProcessorSecond,
                peer.medianLatency, comparison.tunedPeer.perSecond, comparison.tunedPeer.perProcessorSecond,
                comparison.tunedPeer.medianLatency, session.perProcessorSecond, comparison.floor,
            ].map { String(format: "%.0f", $0) }
            let ratios = [
                comparison.againstPeer, comparison.againstTunedPeer, comparison.againstSession, comparison.againstFloor,
            ].map { String(format: "%.2f", $0) }
            let added = String(format: "%.1f µs %.0f %%", comparison.layer.cost, comparison.layer.overhead * 100)
            print(row(comparison.name, counts + ratios + [added]))
        }
        fflush(nil)
    }

    private func row(_ name: String, _ cells: [String]) -> String {
        let padded = cells.map { String(repeating: " ", count: max(1, 10 - $0.count)) + $0 }
        return name + String(repeating: " ", count: max(0, 16 - name.count)) + padded.joined()
    }
}
