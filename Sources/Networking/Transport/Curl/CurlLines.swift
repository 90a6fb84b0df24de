import CCurl

/// Lines in the form in which libcurl wants them, in one piece of memory.
///
/// libcurl only reads them, so they can be made on any thread; they are freed with this object.
@safe final class CurlLines: @unchecked Sendable {  // Sendable because nothing is written after `init`.
    private let memory: UnsafeMutableRawPointer?
    private let count: Int

    init(_ lines: [String]) {
        count = lines.count
        guard !lines.isEmpty else {
            unsafe memory = nil
            return
        }
        let heads = unsafe MemoryLayout<ccurl_list>.stride * lines.count
        let size = lines.reduce(heads) { $0 + $1.utf8.count + 1 }
        let memory = unsafe UnsafeMutableRawPointer.allocate(
            byteCount: size,
            alignment: MemoryLayout<ccurl_list>.alignment
        )
        let list = unsafe memory.bindMemory(to: ccurl_list.self, capacity: lines.count)
        var text = unsafe memory.advanced(by: heads).bindMemory(to: UInt8.self, capacity: size - heads)
        for (index, line) in lines.enumerated() {
            let isLast = index == lines.count - 1
            unsafe list.advanced(by: index).initialize(
                to: ccurl_list(
                    line: UnsafeMutableRawPointer(text).assumingMemoryBound(to: CChar.self),
                    next: isLast ? nil : list.advanced(by: index + 1)
                )
            )
            for byte in line.utf8 {
                unsafe text.initialize(to: byte)
                unsafe text += 1
            }
            unsafe text.initialize(to: 0)
            unsafe text += 1
        }
        unsafe self.memory = memory
    }

    deinit {
        unsafe memory?.deallocate()
    }

    /// The list's head; `nil` if there are no lines.
    var head: UnsafeMutablePointer<ccurl_list>? {
        unsafe memory?.assumingMemoryBound(to: ccurl_list.self)
    }
}
