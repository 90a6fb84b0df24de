import CCurl
internal import OpenSSLCrypto
import SystemIO

/// An easy handle, which runs one transfer after another on the engine's thread.
///
/// The handle and its error message buffer are freed with this object.
@safe final class CurlHandle {
    struct Directions: OptionSet {
        let rawValue: Int
        static let receiving = Self(rawValue: CCURL_PAUSE_RECEIVING)
        static let sending = Self(rawValue: CCURL_PAUSE_SENDING)
    }

    /// The current transfer, which libcurl's callbacks refer to.
    private(set) var transfer: CurlTransfer?
    /// The socket that libcurl last waited for in this transfer.
    var socket: Int32?
    private let easy: OpaquePointer
    private let words: UnsafeMutablePointer<CChar>
    /// `nil` if the handle must be set up again.
    private var settingsKey: CurlSettingsKey?
    private var needsReset = false
    /// The message that was last set, or `nil` after a reset.
    private var message: CurlSettings.Message?
    private(set) var socketOwner: CurlSockets?
    private var openings: [CountedConnection] = []

    init?() {
        guard let easy = unsafe ccurl_easy_init() else { return nil }
        unsafe self.easy = easy
        unsafe words = .allocate(capacity: CCURL_ERROR_SIZE)
        unsafe words.initialize(repeating: 0, count: CCURL_ERROR_SIZE)
    }

    deinit {
        unsafe ccurl_easy_cleanup(easy)
        unsafe words.deallocate()
    }

    /// Returns `false` if libcurl rejects a setting.
    func prepare(for transfer: CurlTransfer, _ engineSettings: CurlEngineSettings) -> Bool {
        self.transfer = transfer
        unsafe words[0] = 0
        let settingsKey = CurlSettingsKey(transfer)
        var settings = unsafe CurlSettings(easy: easy)
        if settingsKey == nil || settingsKey != self.settingsKey {
            reset()
            setUp(&settings, for: transfer, engineSettings)
        }
        // An HTTP proxy needs the whole URL as the target. libcurl alone knows whether the host is
        // an exception, and the kind of a proxy from the environment.
        let isForwarded = transfer.origin.scheme == "http" && transfer.proxyName != nil
        settings.setMessage(transfer.request, isForwarded: isForwarded, after: message)
        message = CurlSettings.Message(transfer.request)
        self.settingsKey = settings.areAccepted ? settingsKey : nil
        return settings.areAccepted
    }

    private func setUp(_ settings: inout CurlSettings, for transfer: CurlTransfer, _ engineSettings: CurlEngineSettings)
    {
        let request = transfer.request
        settings.setConnection(of: transfer, engineSettings)
        settings.setRequest(request, configuration: engineSettings.configuration)
        unsafe settings.check(ccurl_easy_set_error_buffer(easy, words))
        // Only the transfer knows whether it may be repeated. A libcurl without RTSP repeats
        // requests itself, after the callback.
        settings.trySet(CCURL_LONG_RTSP_REQUEST, CCURL_RTSP_RECEIVE)
        if transfer.needsNewConnection { settings.set(CCURL_LONG_FRESH_CONNECT, 1) }
        if engineSettings.configuration.protocolVersion.mayBeHTTP2(to: request.origin) {
            settings.setWordsFunction()
        }
        if request.hasBody { settings.setBody(request) }
        settings.setFunctions(of: self)
        settings.setBuffers(of: transfer)
    }

    /// Continues after a name lookup, with the addresses and the remaining time; returns `false` if
    /// libcurl rejects a setting.
    func resume(with lines: CurlLines?, connectTimeout: Duration) -> Bool {
        socket = nil
        unsafe words[0] = 0
        // The next transfer has other addresses and more time.
        settingsKey = nil
        var settings = unsafe CurlSettings(easy: easy)
        if let lines { settings.set(CCURL_LIST_RESOLVE, lines) }
        settings.set(CCURL_LONG_CONNECTTIMEOUT_MS, connectTimeout.milliseconds)
        return settings.areAccepted
    }

    private func reset() {
        guard needsReset else { return needsReset = true }
        unsafe ccurl_easy_reset(easy)
        settingsKey = nil
        message = nil
        socketOwner = nil
    }

    /// After an ordinary transfer, a similar one can reuse the settings; connections and resolved
    /// names stay with the multi handle.
    func release(isOrdinary: Bool) {
        // The next request sets its own message, and a copy of a large body isn't worth keeping.
        if !isOrdinary || transfer?.request.body.isLarge ?? true { reset() }
        transfer = nil
        socket = nil
    }
}

// The state of a running transfer, and of an ended one until ``CurlHandle/reset()``.
extension CurlHandle {
    var errorText: String { unsafe String(cString: words) }

    func number(_ info: ccurl_info) -> Int { Int(unsafe ccurl_easy_info(easy, info)) }

    var peerAddress: String? {
        guard let address = unsafe ccurl_easy_peer_address(easy).map({ unsafe String(cString: $0) }) else { return nil }
        return address.isEmpty ? nil : address
    }

    /// libcurl doesn't wait for a kept connection whose response is there at once, so ``socket``
    /// can be `nil`.
    var connection: CountedConnection? {
        let socket = unsafe socket ?? ccurl_easy_socket(easy)
        return socketOwner?.connection(at: socket)
    }

    /// libcurl is about to connect the socket.
    func noteOpening(at socket: Int32) {
        if let connection = socketOwner?.connection(at: socket) { openings.append(connection) }
    }

    func takeOpenings() -> [CountedConnection] {
        defer { openings = [] }
        return openings
    }

    /// The request is sent on one of the transfer's connections; the others are its rivals.
    func establish(_ version: TLSProtocolVersion?) {
        let opened = takeOpenings()
        let isAlone = opened.count == 1
        let port = isAlone ? nil : number(CCURL_INFO_LOCAL_PORT)
        for connection in opened {
            if isAlone || Socket.localPort(of: connection.socket).map(Int.init) == port {
                connection.establish()
                connection.version = version
                connection.note(isBusy: true)
            } else {
                socketOwner?.noteEnd(of: connection)
            }
        }
    }

    /// The owner must outlive the connections; returns `false` if libcurl rejects it.
    func setSocketOwner(_ owner: CurlSockets) -> Bool {
        guard socketOwner !== owner else { return true }
        let context = unsafe Unmanaged.passUnretained(owner).toOpaque()
        let code = unsafe ccurl_easy_set_socket_closed_function(
            easy,
            { context, socket in
                guard let context = unsafe context else { return 0 }
                unsafe Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue().close(socket)
                return 0
            },
            context
        )
        guard code == Int32(CCURL_OK) else { return false }
        socketOwner = owner
        return true
    }

    /// Returns `false` if libcurl rejects the transfer.
    func join(_ multi: OpaquePointer) -> Bool {
        unsafe ccurl_multi_add(multi, easy) == Int32(CCURL_OK)
    }

    func leave(_ multi: OpaquePointer) {
        _ = unsafe ccurl_multi_remove(multi, easy)
    }

    /// Pauses the given directions and resumes the others; unless the result is 0, the transfer
    /// must be ended; libcurl may immediately offer data that it kept.
    func hold(_ directions: Directions) -> Int32 {
        unsafe ccurl_easy_pause(easy, Int32(directions.rawValue))
    }

    static func behind(_ context: UnsafeMutableRawPointer?) -> CurlHandle? {
        unsafe context.map { unsafe Unmanaged<CurlHandle>.fromOpaque($0).takeUnretainedValue() }
    }

    static func transfer(behind context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        unsafe behind(context)?.transfer
    }

    static func of(_ easy: OpaquePointer) -> CurlHandle? {
        unsafe behind(ccurl_easy_context(easy))
    }
}

/// A list of lines in libcurl's format, stored in a single block of memory.
///
/// libcurl only reads the list, so any thread may create it. The memory is freed with this object.
@safe final class CurlLines: @unchecked Sendable {  // Sendable because `init` is the only writer.
    private let memory: UnsafeMutableRawPointer
    /// In bytes, with terminators.
    let size: Int
    let longest: Int

    /// Returns `nil` without lines.
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

    var head: UnsafeMutablePointer<ccurl_list> { unsafe memory.assumingMemoryBound(to: ccurl_list.self) }
}
