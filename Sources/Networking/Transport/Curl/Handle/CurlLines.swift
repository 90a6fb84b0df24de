import CCurl

/// Lines in the form in which libcurl wants them, in one piece of memory.
///
/// libcurl only reads them, so they can be made on any thread; they are freed with this object.
@safe final class CurlLines: @unchecked Sendable {  // Sendable because nothing is written after `init`.
    private let memory: UnsafeMutableRawPointer
    /// The octets of the lines, with the one that ends each.
    let size: Int

    /// Makes lines; none if there are none.
    init?(_ lines: some Collection<Line>) {
        guard !lines.isEmpty else { return nil }
        let heads = unsafe MemoryLayout<ccurl_list>.stride * lines.count
        size = lines.reduce(0) { $0 + $1.size }
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

    /// The list's first line.
    var head: UnsafeMutablePointer<ccurl_list> { unsafe memory.assumingMemoryBound(to: ccurl_list.self) }
}

extension CurlLines {
    /// A line that is put together from two texts, without another copy of them.
    struct Line {
        private let start: String
        private let separator: StaticString
        private let end: Substring

        /// A whole line.
        init(_ text: String) {
            (start, separator, end) = (text, "", "")
        }

        /// A header field in libcurl's notation, in which `Name;` has an empty value and `Name:` would mean that the field is not
        /// sent.
        init(name: String, value: Substring) {
            (start, separator, end) = (name, value.isEmpty ? ";" : ": ", value)
        }

        /// The octets, with the one that ends them.
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
