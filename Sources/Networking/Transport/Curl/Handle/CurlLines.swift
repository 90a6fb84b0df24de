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
    init?(_ lines: some Collection<Line>) {
        guard !lines.isEmpty else { return nil }
        let heads = unsafe MemoryLayout<ccurl_list>.stride * lines.count
        size = lines.reduce(0) { $0 + $1.size }
        longest = lines.reduce(0) { max($0, $1.size) }
        unsafe memory = .allocate(byteCount: heads + size, alignment: MemoryLayout<ccurl_list>.alignment)
        var list = unsafe memory.bindMemory(to: ccurl_list.self, capacity: lines.count)
        var text = unsafe memory.advanced(by: heads).bindMemory(to: UInt8.self, capacity: size)
        var rest = lines.count
        for line in lines {
            rest -= 1
            let start = unsafe UnsafeMutableRawPointer(text).assumingMemoryBound(to: CChar.self)
            unsafe list.initialize(to: ccurl_list(line: start, next: rest == 0 ? nil : list + 1))
            unsafe list += 1
            unsafe line.write(to: &text)
        }
    }

    deinit {
        unsafe memory.deallocate()
    }

    /// The first element of the list.
    var head: UnsafeMutablePointer<ccurl_list> { unsafe memory.assumingMemoryBound(to: ccurl_list.self) }
}

extension CurlLines {
    /// A line built from two strings without copying them first.
    struct Line {
        private let start: String
        private let separator: StaticString
        private let end: Substring

        /// Creates a line from its whole text.
        init(_ text: String) {
            (start, separator, end) = (text, "", "")
        }

        /// Creates a header field in libcurl's notation.
        ///
        /// `Name;` is a field with an empty value, whereas `Name:` removes the field.
        init(name: String, value: Substring) {
            (start, separator, end) = (name, value.isEmpty ? ";" : ": ", value)
        }

        /// The size in bytes, including the terminator.
        fileprivate var size: Int { start.utf8.count + separator.utf8CodeUnitCount + end.utf8.count + 1 }

        fileprivate func write(to text: inout UnsafeMutablePointer<UInt8>) {
            unsafe copy(start.utf8, to: &text)
            unsafe text.initialize(from: separator.utf8Start, count: separator.utf8CodeUnitCount)
            unsafe text += separator.utf8CodeUnitCount
            unsafe copy(end.utf8, to: &text)
            unsafe text.initialize(to: 0)
            unsafe text += 1
        }

        private func copy(_ octets: some Sequence<UInt8>, to text: inout UnsafeMutablePointer<UInt8>) {
            let isCopied: Void? = octets.withContiguousStorageIfAvailable { storage in
                guard let base = storage.baseAddress else { return }
                unsafe text.initialize(from: base, count: storage.count)
                unsafe text += storage.count
            }
            guard isCopied == nil else { return }
            for octet in octets {
                unsafe text.initialize(to: octet)
                unsafe text += 1
            }
        }
    }
}
