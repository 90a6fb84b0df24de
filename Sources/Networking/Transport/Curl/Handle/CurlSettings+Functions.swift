import CCurl
import Glibc

// The callbacks for a running transfer. The context is the handle, which outlives the transfer.
extension CurlSettings {
    /// Sets the callbacks of every transfer, and the ones that were added to ``functions``.
    mutating func setFunctions(of handle: CurlHandle) {
        unsafe functions.header = { octets, size, count, context in
            guard let octets = unsafe octets, let transfer = unsafe CurlHandle.transfer(behind: context) else {
                return 0
            }
            let line = unsafe UnsafeRawBufferPointer(start: octets, count: size * count)
            let bytes = unsafe line.assumingMemoryBound(to: UInt8.self)
            return unsafe transfer.receive(headerLines: bytes.span) ? size * count : 0
        }
        unsafe functions.write = { octets, size, count, context in
            guard let octets = unsafe octets, let transfer = unsafe CurlHandle.transfer(behind: context) else {
                return 0
            }
            let part = unsafe UnsafeRawBufferPointer(start: octets, count: size * count)
            return switch unsafe transfer.receive(octets: part.assumingMemoryBound(to: UInt8.self)) {
            case .taken: size * count
            case .refused: 0
            case .heldBack: CCURL_PAUSE
            }
        }
        // libcurl would start a thread for a name lookup.
        unsafe functions.resolver = { _, _, context in
            unsafe CurlHandle.transfer(behind: context)?.mayLookUp() == true ? 0 : 1
        }
        if CurlLibrary.asksBeforeRequests {
            unsafe functions.request = { context, peer, _, peerPort, localPort in
                guard let transfer = unsafe CurlHandle.transfer(behind: context) else { return 1 }
                let connection = unsafe CurlConnectionName(peer: peer, peerPort: peerPort, localPort: localPort)
                return transfer.beginRequest(on: connection) ? 0 : 1
            }
        }
        setSocketFunction()
        let context = unsafe Unmanaged.passUnretained(handle).toOpaque()
        unsafe check(ccurl_easy_set_context(easy, context))
        unsafe check(ccurl_easy_set_functions(easy, &functions, context))
    }

    /// Adds the callback that observes HTTP/2 connections through libcurl's log messages.
    mutating func setWordsFunction() {
        unsafe functions.words = { _, kind, octets, count, context in
            guard let octets = unsafe octets, let transfer = unsafe CurlHandle.transfer(behind: context) else {
                return 0
            }
            if Int(kind) == CCURL_WORDS_TLS_RECEIVED { transfer.receiveRecord() }
            guard Int(kind) == CCURL_WORDS_TEXT else { return 0 }
            let words = unsafe UnsafeRawBufferPointer(start: octets, count: count)
            unsafe transfer.hear(words.assumingMemoryBound(to: UInt8.self))
            return 0
        }
    }

    /// Adds the callback that creates sockets, so that child processes don't inherit them.
    private mutating func setSocketFunction() {
        unsafe functions.make_socket = { context, _, kind in
            guard let kind = unsafe kind, let handle = unsafe CurlHandle.behind(context), let transfer = handle.transfer
            else { return -1 }
            guard !transfer.requiresKeptConnection else {
                transfer.missesKeptConnection = true
                return -1
            }
            if transfer.configuration.unixSocketPath == nil { transfer.observation?.resolve() }
            let socket = unsafe handle.socketOwner?.make(kind, for: transfer.activity) ?? -1
            guard socket >= 0 else {
                if NetworkError.isDescriptorLimit(errno) { transfer.socketError = errno }
                return -1
            }
            guard transfer.setUp(socket, family: unsafe kind.pointee.family) else {
                handle.socketOwner?.close(socket)
                return -1
            }
            handle.noteOpening(at: socket)
            return socket
        }
    }
}
