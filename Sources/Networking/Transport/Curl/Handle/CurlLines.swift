import CCurl

/// A list of lines in libcurl's format, stored in a single block of memory.
///
/// libcurl only reads the list, so any thread may create it. The memory is freed with this object.
@safe final class CurlLines: @unchecked Sendable {  // Sendable because `init` is the only writer.
    private let memory: UnsafeMutableRawPointer
    /// The size of the lines in bytes, including terminators.
    let size: Int
    /// The size of the longest line in bytes, including its terminator.
    let longest: Int

    /// Creates a list, or returns `nil` without lines.
    init?(_ lines: [String]) {
        guard !lines.isEmpty else { return nil }
        let sizes = lines.map { $0.utf8.count + 1 }
        let heads = unsafe MemoryLayout<ccurl_list>.stride * lines.count
        size = sizes.reduce(0, +)
        longest = sizes.max() ?? 0
        unsafe memory = .allocate(byteCount: heads + size, alignment: MemoryLayout<ccurl_list>.alignment)
        var list = unsafe memory.bindMemory(to: ccurl_list.self, capacity: lines.count)
        var text = unsafe memory + heads
        for (index, line) in lines.enumerated() {
            let next = unsafe index == lines.count - 1 ? nil : list + 1
            unsafe list.initialize(to: ccurl_list(line: text.assumingMemoryBound(to: CChar.self), next: next))
            unsafe line.withCString { unsafe text.copyMemory(from: $0, byteCount: sizes[index]) }
            unsafe list += 1
            unsafe text += sizes[index]
        }
    }

    deinit {
        unsafe memory.deallocate()
    }

    /// The first element of the list.
    var head: UnsafeMutablePointer<ccurl_list> { unsafe memory.assumingMemoryBound(to: ccurl_list.self) }
}
