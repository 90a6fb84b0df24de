/// Does nothing but one case of ours for some seconds, to be looked at with a profiler.
struct ProfileSuite {
    private let arguments: Arguments

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func run() throws {
        for algorithm in TokenAlgorithm.all {
            guard arguments.only?.hasPrefix("\(algorithm.name) ") ?? false else { continue }
            let ours = try Ours(KeyMaterial(algorithm))
            if arguments.only == "\(algorithm.name) sign" { try exercise { use(try ours.sign()) } }
            if arguments.only == "\(algorithm.name) verify" { try exercise { use(try ours.verify()) } }
        }
    }

    private func exercise(_ operation: () throws -> Void) throws {
        let end = WallClock.now + UInt64(arguments.seconds) * 1_000_000_000
        while WallClock.now < end {
            for _ in 0..<64 { try operation() }
        }
    }
}
