import CCurl

/// A decoder for the content codings of one body, which detects truncated bodies.
///
/// libcurl could decode too, but it accepts a truncated body if the message around it is complete.
/// The decoder runs on the engine's thread.
final class ContentDecoder {
    enum Defect: Error {
        case unknownCoding
        case malformed
        /// A coding other than the first one expands to much more than what was received.
        case expanding
        /// The body needs a window of more than 4 MiB.
        case window
    }

    @safe private final class Stage {
        private let decoder: OpaquePointer
        private var input: [UInt8] = []
        private var position = 0
        /// The data so far ends with the coding's end.
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

        /// Returns 0 if more input is needed.
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
                guard Int(result) != CCODING_TOO_LARGE else { throw .window }
                isWhole = Int(result) == CCODING_END
                if given > 0 { return given }
                // Without progress, or with no input left, only more input helps.
                if taken == 0 || position == input.count { return 0 }
            }
        }
    }

    private static let bufferSize = 32 << 10

    /// The coding that was applied last comes first.
    private let stages: [Stage]
    private var buffer = [UInt8](repeating: 0, count: bufferSize)
    /// The decoded bytes in the buffer that haven't been taken.
    private var readyCount = 0
    /// The bytes that libcurl will offer again because not all of their output was taken.
    private var offeredAgain = 0
    /// Before decoding.
    private(set) var inputCount = 0
    /// The output of the stages before the last one.
    private var innerCount = 0
    /// The limit on a turn's work was reached.
    private var isInterrupted = false

    /// The codings are in the order they were applied, as in `Content-Encoding`.
    init(_ codings: [String]) throws(Defect) {
        var stages: [Stage] = []
        for coding in codings.reversed() {
            guard let kind = Self.kind(coding), let stage = Stage(kind) else { throw .unknownCoding }
            stages.append(stage)
        }
        guard !stages.isEmpty, stages.count <= Self.maximumStageCount else { throw .unknownCoding }
        self.stages = stages
    }

    /// More codings indicate an attack.
    private static let maximumStageCount = 2

    /// The bytes that a stage before the last one may always produce, and how many more for each
    /// byte received.
    ///
    /// Coded data hardly shrinks when it's coded again. Without a limit, a few bytes could expand
    /// to gigabytes that the next stage reads without output.
    private static let innerAllowance = (size: 64 << 10, factor: 8)

    private static let kinds = [
        ("deflate", CCODING_DEFLATE), ("gzip", CCODING_GZIP), ("br", CCODING_BROTLI), ("zstd", CCODING_ZSTD),
    ]

    /// The syntax of `Accept-Encoding`, or an empty string.
    static let acceptedCodings = kinds.filter { ccoding_is_available($0.1) }.map(\.0).joined(separator: ", ")

    private static func kind(_ coding: String) -> ccoding_kind? {
        let name = coding.lowercased()
        return kinds.first { $0.0 == (name == "x-gzip" ? "gzip" : name) }?.1
    }

    /// The body is complete or empty.
    var isWhole: Bool { !stages[0].hasBegun || stages.allSatisfy(\.isWhole) && readyCount == 0 }

    /// Returns whether all of the output was taken.
    ///
    /// If it wasn't, because `take` had no capacity or `goesOn` returned `false`, the same bytes
    /// are offered again, perhaps followed by more. `goesOn` gets the size of each part that one
    /// stage passes to another.
    func decode(
        _ octets: UnsafeBufferPointer<UInt8>,
        goesOn: (Int) -> Bool = { _ in true },
        take: (UnsafeBufferPointer<UInt8>) -> Bool
    ) throws(Defect) -> Bool {
        let known = min(offeredAgain, octets.count)
        unsafe stages[0].push(UnsafeBufferPointer(rebasing: octets[known...]))
        inputCount += octets.count - known
        offeredAgain = max(offeredAgain, octets.count)
        isInterrupted = false
        while true {
            if readyCount == 0 { readyCount = try pull(stages.count - 1, goesOn) }
            guard !isInterrupted else { return false }
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

    private func pull(_ index: Int, _ goesOn: (Int) -> Bool) throws(Defect) -> Int {
        while true {
            let count = try stages[index].pull(into: &buffer)
            guard count == 0, index > 0 else { return count }
            let before = try pull(index - 1, goesOn)
            guard before > 0 else { return 0 }
            innerCount += before
            let (size, factor) = Self.innerAllowance
            guard innerCount <= size + factor * inputCount else { throw .expanding }
            unsafe buffer.withUnsafeBufferPointer { buffer in
                unsafe stages[index].push(UnsafeBufferPointer(rebasing: buffer[..<before]))
            }
            guard goesOn(before) else {
                isInterrupted = true
                return 0
            }
        }
    }
}
