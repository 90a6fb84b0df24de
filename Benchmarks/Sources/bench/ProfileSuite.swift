import Networking

/// One of our cases, repeated for some seconds for a profiler.
struct ProfileSuite {
    private let arguments: Arguments

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func run() async throws {
        if try await exerciseHTTP() { return }
        for algorithm in TokenAlgorithm.all {
            guard arguments.only?.hasPrefix("\(algorithm.name) ") ?? false else { continue }
            let ours = try Ours(KeyMaterial(algorithm))
            if arguments.only == "\(algorithm.name) sign" { try exercise { use(try ours.sign()) } }
            if arguments.only == "\(algorithm.name) verify" { try exercise { use(try ours.verify()) } }
        }
        for name in EncryptionCase.names where arguments.only?.hasPrefix("\(name) ") ?? false {
            let ours = try EncryptionCase(name)
            if arguments.only == "\(name) encrypt" { try exercise { use(try ours.encrypt()) } }
            if arguments.only == "\(name) decrypt" { try exercise { use(try ours.decrypt()) } }
        }
    }

    /// Runs an HTTP case with 32 tasks: `http transport`, `http fields` (with the client's header
    /// fields),
    /// `http TLS` (the transport with TLS), `http client`, `http AHC` or `http URLSession`.
    private func exerciseHTTP() async throws -> Bool {
        guard let only = arguments.only, only.hasPrefix("http ") else { return false }
        if let chain = ChainCase.all.first(where: { "http \($0.name)" == only }) {
            let end = WallClock.now + UInt64(arguments.seconds) * 1_000_000_000
            while WallClock.now < end { try await chain.run(times: 1000) }
            return true
        }
        if let signature = SignatureCase.all.first(where: { "http \($0.name)" == only }) {
            let end = WallClock.now + UInt64(arguments.seconds) * 1_000_000_000
            let side = try await signature.sides().whole
            while WallClock.now < end { try await side.run(100) }
            return true
        }
        if only == "http TLS" { try PrivateTrust.enter() }
        let server = try BenchmarkServer()
        defer { server.stop() }
        try PrivateTrust.add(server.certificate)
        let side: HTTPSide
        switch only {
        case "http transport": side = try .transport(server.plain)
        case "http fields": side = try .transport(server.plain, headers: HTTPSide.clientFields(.short))
        case "http TLS": side = try .transport(server.secure)
        case "http client": side = try .client(server.plain)
        case "http AHC": side = .asyncHTTPClient(server.plain, [:], connections: 64)
        default: side = .urlSession(server.plain, [:])
        }
        let figures = try await side.run(tasks: 32, nanoseconds: UInt64(arguments.seconds) * 1_000_000_000)
        print("\(only): \(Int(figures.perSecond)) per second, \(Int(figures.perProcessorSecond)) per CPU second")
        try await side.stop()
        return true
    }

    private func exercise(_ operation: () throws -> Void) throws {
        let end = WallClock.now + UInt64(arguments.seconds) * 1_000_000_000
        while WallClock.now < end {
            for _ in 0..<64 { try operation() }
        }
    }
}
