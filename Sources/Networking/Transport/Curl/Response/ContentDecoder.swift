import CCurl

/// Decodes one body from its content codings, and knows whether it came to its end.
///
/// libcurl would decode, too, but takes a coded body that is cut short for a whole one if the message around it is whole. It is used on
/// the engine's thread.
final class ContentDecoder {
    /// Why a body can't be decoded.
    enum Defect: Error {
        case unknownCoding
        case malformed
    }

    /// One coding of several, the last one that the server applied first.
    @safe private final class Stage {
        private let decoder: OpaquePointer
        private var input: [UInt8] = []
        private var position = 0
        /// Whether what came so far is whole.
        private(set) var isWhole = false
        private(set) var hasBegun = false

        init?(_ kind: ccoding_kind) {
            guard let decoder = unsafe ccoding_make(kind) else { return nil }
            unsafe self.decoder = decoder
        }

        deinit { unsafe ccoding_free(decoder) }

        func push(_ octets: UnsafeBufferPointer<UInt8>) {
            if position == input.count {
                input.removeAll(keepingCapacity: true)
                position = 0
            }
            hasBegun = hasBegun || !octets.isEmpty
            unsafe input.append(contentsOf: octets)
        }

        /// Decodes into a buffer; returns 0 when there is nothing to decode for now.
        func pull(into buffer: inout [UInt8]) throws(Defect) -> Int {
            while true {
                var (taken, given) = (0, 0)
                let result = unsafe input.withUnsafeBufferPointer { input in
                    unsafe buffer.withUnsafeMutableBufferPointer { buffer in
                        unsafe ccoding_decode(
                            decoder,
                            input.baseAddress.map { unsafe $0 + position },
                            input.count - position,
                            &taken,
                            buffer.baseAddress,
                            buffer.count,
                            &given
                        )
                    }
                }
                position += taken
                guard Int(result) != CCODING_MALFORMED else { throw .malformed }
                isWhole = Int(result) == CCODING_END
                if given > 0 { return given }
                // Without progress, or with nothing left, only more input helps.
                if taken == 0 || position == input.count { return 0 }
            }
        }
    }

    private static let bufferSize = 32 << 10

    /// The coding that was applied last comes first.
    private let stages: [Stage]
    private var buffer = [UInt8](repeating: 0, count: bufferSize)
    /// The octets in the buffer that nobody has taken yet.
    private var readyCount = 0
    /// The octets that libcurl offers again because not all that they make was taken.
    private var offeredAgain = 0
    /// How many octets came, before decoding.
    private(set) var inputCount = 0

    /// Prepares for a list of codings as `Content-Encoding` has them, in the order in which they were applied.
    init(_ codings: [String]) throws(Defect) {
        var stages: [Stage] = []
        for coding in codings.reversed() {
            guard let kind = Self.kind(coding), let stage = Stage(kind) else { throw .unknownCoding }
            stages.append(stage)
        }
        guard !stages.isEmpty, stages.count <= Self.maximumStageCount else { throw .unknownCoding }
        self.stages = stages
    }

    /// More codings than that are an attack.
    private static let maximumStageCount = 5

    /// The codings that can be decoded, as `Accept-Encoding` lists them; empty if there are none.
    static let acceptedCodings = [
        ("deflate", CCODING_DEFLATE), ("gzip", CCODING_GZIP), ("br", CCODING_BROTLI), ("zstd", CCODING_ZSTD),
    ].filter { ccoding_is_available($0.1) }.map(\.0).joined(separator: ", ")

    private static func kind(_ coding: String) -> ccoding_kind? {
        switch coding.lowercased() {
        case "gzip", "x-gzip": CCODING_GZIP
        case "deflate": CCODING_DEFLATE
        case "br": CCODING_BROTLI
        case "zstd": CCODING_ZSTD
        default: nil
        }
    }

    /// Whether the body came to its end, or there is none.
    var isWhole: Bool { !stages[0].hasBegun || stages.allSatisfy(\.isWhole) && readyCount == 0 }

    /// Decodes octets and hands them on.
    ///
    /// - Parameters:
    ///   - octets: What came. If not everything was taken, the same octets, and maybe more, are offered again.
    ///   - take: Takes decoded octets; false if there is no room for them now.
    /// - Returns: Whether everything was taken.
    /// - Throws: What speaks against what came.
    func decode(
        _ octets: UnsafeBufferPointer<UInt8>,
        take: (UnsafeBufferPointer<UInt8>) -> Bool
    ) throws(Defect) -> Bool {
        let known = min(offeredAgain, octets.count)
        unsafe stages[0].push(UnsafeBufferPointer(rebasing: octets[known...]))
        inputCount += octets.count - known
        offeredAgain = max(offeredAgain, octets.count)
        while true {
            if readyCount == 0 { readyCount = try pull(stages.count - 1) }
            guard readyCount > 0 else { break }
            let isTaken = unsafe buffer.withUnsafeBufferPointer { buffer in
                unsafe take(UnsafeBufferPointer(rebasing: buffer[..<readyCount]))
            }
            guard isTaken else { return false }
            readyCount = 0
        }
        offeredAgain -= octets.count
        return true
    }

    /// Decodes the next octets of a stage into the buffer, from those of the stage before it.
    private func pull(_ index: Int) throws(Defect) -> Int {
        while true {
            let count = try stages[index].pull(into: &buffer)
            guard count == 0, index > 0 else { return count }
            let before = try pull(index - 1)
            guard before > 0 else { return 0 }
            unsafe buffer.withUnsafeBufferPointer { buffer in
                unsafe stages[index].push(UnsafeBufferPointer(rebasing: buffer[..<before]))
            }
        }
    }
}
