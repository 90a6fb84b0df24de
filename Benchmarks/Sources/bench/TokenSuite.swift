import TokenGeneration

/// Signing and verifying with each algorithm, and encrypted tokens: this package, jwt-kit, which
/// has no encryption, and OpenSSL alone.
struct TokenSuite {
    private let arguments: Arguments

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func run() async throws {
        let report = Report(isJSON: arguments.isJSON)
        report.begin()
        for algorithm in TokenAlgorithm.all {
            let names = ["\(algorithm.name) sign", "\(algorithm.name) verify"]
            guard names.contains(where: arguments.wants) else { continue }
            let material = try KeyMaterial(algorithm)
            let ours = try Ours(material)
            let peer = try await Peer(algorithm, material)
            let floor = try Floor(algorithm, material, token: ours.token)
            let slice = algorithm.slice
            if arguments.wants(names[0]) {
                report.add(try await compare(names[0], ours.signing, peer?.signing, floor.signing, slice))
            }
            if arguments.wants(names[1]) {
                let sides = (peer?.verification, floor.verification)
                report.add(try await compare(names[1], ours.verification, sides.0, sides.1, slice))
            }
        }
        for name in EncryptionCase.names {
            let names = ["\(name) encrypt", "\(name) decrypt"]
            guard names.contains(where: arguments.wants) else { continue }
            let ours = try EncryptionCase(name)
            let floor = try EncryptionFloor(ours)
            // Encryption with a public key also makes keys, which has no prepared form.
            if ours.key.algorithm == .dir, arguments.wants(names[0]) {
                report.add(try await compare(names[0], ours.encryption, nil, floor.encryption))
            }
            if arguments.wants(names[1]) {
                report.add(try await compare(names[1], ours.decryption, nil, floor.decryption))
            }
        }
    }

    /// Measures the sides in alternating turns, so a slow machine slows all of them.
    private func compare(
        _ name: String,
        _ ours: Side,
        _ peer: Side?,
        _ floor: Side,
        _ slice: UInt64 = 5_000_000
    ) async throws -> Comparison {
        let sides = [ours, peer, floor].compactMap { $0 }
        var times: [Int] = []
        for side in sides { times.append(try await side.timesPerSlice(slice)) }
        var figures = [[Double]](repeating: [], count: sides.count)
        for _ in 0..<arguments.rounds {
            for index in sides.indices { figures[index].append(try await sides[index].measure(times[index])) }
        }
        let medians = figures.map(\.median)
        return Comparison(
            name: name,
            ours: medians[0],
            peer: peer == nil ? nil : medians[1],
            floor: medians[sides.count - 1],
            oursMallocs: try await ours.allocations(),
            peerMallocs: try await peer?.allocations()
        )
    }
}

extension [Double] {
    var median: Double {
        let sorted = sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}
