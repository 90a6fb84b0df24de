import Glibc

extension NameResolver.Query {
    /// The maximum number of addresses to use per family; an answer may have thousands.
    private static let maximumCount = 16

    /// The system resolver's answer, in the order of
    /// [RFC 6724](https://www.rfc-editor.org/rfc/rfc6724).
    ///
    /// It omits addresses that need a zone, because a URL can't specify one.
    var systemAnswer: NameResolver.Answer {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = systemFamily
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(name, nil, &hints, &list)
        guard code == 0 else {
            // Without a socket for the query, the system reports that the name has no address.
            if let number = NetworkError.missingDescriptor {
                return .failure(.unavailable(.noDescriptor(number, "can't look up names")))
            }
            return .failure(.noAddress(unsafe gai_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"))
        }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [String] = []
        var counts: [Int32: Int] = [:]
        var entry = unsafe list
        while let current = unsafe entry {
            let family = unsafe current.pointee.ai_family
            if let text = unsafe Self.text(of: current.pointee), counts[family, default: 0] < Self.maximumCount,
                !addresses.contains(text)
            {
                counts[family, default: 0] += 1
                addresses.append(text)
            }
            unsafe entry = current.pointee.ai_next
        }
        guard !addresses.isEmpty else { return .failure(.noAddress("all of its addresses need a zone")) }
        return .success(addresses)
    }

    /// Returns whether the text is an address in any form that the system reads, such as `127.1`.
    static func isAddress(_ text: String) -> Bool {
        if text.utf8.contains(UInt8(ascii: ":")) { return true }
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = AI_NUMERICHOST
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(text, nil, &hints, &list) == 0 else { return false }
        unsafe freeaddrinfo(list)
        return true
    }

    private var systemFamily: Int32 {
        switch family {
        case .ipv4: return AF_INET
        case .ipv6: return AF_INET6
        case .any, .ipv4First, .ipv6First:
            // Without IPv6 in the kernel, a query for IPv6 addresses is wasted.
            let probe = socket(AF_INET6, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            guard probe >= 0 else { return AF_INET }
            close(probe)
            return AF_UNSPEC
        }
    }

    private static func text(of entry: addrinfo) -> String? {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { buffer in
            guard let start = buffer.baseAddress,
                unsafe getnameinfo(
                    entry.ai_addr,
                    entry.ai_addrlen,
                    start,
                    socklen_t(buffer.count),
                    nil,
                    0,
                    NI_NUMERICHOST
                ) == 0
            else { return nil }
            let text = unsafe String(cString: start)
            return text.utf8.contains(UInt8(ascii: "%")) ? nil : text
        }
    }

    /// Returns an answer in the order to try its addresses, which is otherwise the resolver's.
    func ordered(_ answer: NameResolver.Answer) -> NameResolver.Answer {
        switch family {
        case .any, .ipv4, .ipv6: answer
        case .ipv4First: answer.map { $0.filter { !$0.contains(":") } + $0.filter { $0.contains(":") } }
        case .ipv6First: answer.map { $0.filter { $0.contains(":") } + $0.filter { !$0.contains(":") } }
        }
    }
}
