import CCurl

/// An easy handle, used for one transfer after another on the engine's thread.
///
/// The handle and the buffer for its error's words are freed with this object.
@safe final class CurlHandle {
    /// Directions of a transfer.
    struct Directions: OptionSet {
        let rawValue: Int
        static let receiving = Self(rawValue: CCURL_PAUSE_RECEIVING)
        static let sending = Self(rawValue: CCURL_PAUSE_SENDING)
    }

    /// The transfer that the handle is used for, which libcurl's calls are about.
    private(set) var transfer: CurlTransfer?
    /// The socket that libcurl last waited for on behalf of this transfer.
    var socket: Int32?
    private let easy: OpaquePointer
    private let words: UnsafeMutablePointer<CChar>
    /// What the settings are good for; `nil` if they must be made anew.
    private var profile: CurlSettingsKey?
    private var needsReset = false
    /// What was set last; `nil` after a reset.
    private var message: CurlSettings.Message?
    /// Who makes and closes the transfer's sockets.
    private(set) var socketOwner: CurlSockets?

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

    /// Sets up everything for a transfer; false if libcurl refused something.
    func prepare(for transfer: CurlTransfer, _ preparation: CurlEngineSettings) -> Bool {
        self.transfer = transfer
        unsafe words[0] = 0
        let profile = CurlSettingsKey(transfer)
        var settings = unsafe CurlSettings(easy: easy)
        if profile == nil || profile != self.profile {
            reset()
            setUp(&settings, for: transfer, preparation)
        }
        settings.setMessage(transfer.request, after: message)
        message = CurlSettings.Message(transfer.request)
        self.profile = settings.areAccepted ? profile : nil
        return settings.areAccepted
    }

    private func setUp(_ settings: inout CurlSettings, for transfer: CurlTransfer, _ preparation: CurlEngineSettings) {
        let request = transfer.request
        settings.setConnection(of: self, request, preparation)
        settings.setRequest(request, configuration: preparation.configuration)
        unsafe settings.set { unsafe ccurl_easy_set_error_buffer($0, words) }
        settings.setFunctions(of: self)
        if !settings.canAskBeforeRequests, !request.method.isIdempotent {
            // Without the question before each request, only a new connection keeps libcurl from sending it twice.
            settings.set(CCURL_LONG_FRESH_CONNECT, 1)
        }
        // Only the transfer knows whether it may be repeated. A libcurl without RTSP repeats by itself, after asking.
        settings.trySet(CCURL_LONG_RTSP_REQUEST, CCURL_RTSP_RECEIVE)
        if transfer.needsNewConnection { settings.set(CCURL_LONG_FRESH_CONNECT, 1) }
        if preparation.configuration.protocolVersion.mayBeHTTP2(to: request.origin) {
            settings.setWordsFunction(of: self)
        }
        settings.setSocketFunction(of: self)
        settings.setResolverFunction(of: self)
        if request.hasBody { settings.setBody(request, of: self) }
        settings.setBuffers(of: transfer)
    }

    /// Sets a transfer up again whose name was looked up meanwhile; false if libcurl refused something.
    ///
    /// - Parameters:
    ///   - lines: The addresses that libcurl is told.
    ///   - connectTimeout: The time that is left for making a connection.
    /// - Returns: Whether libcurl took every setting.
    func resume(with lines: CurlLines?, connectTimeout: Duration) -> Bool {
        socket = nil
        unsafe words[0] = 0
        // The next transfer has other addresses and more time.
        profile = nil
        var settings = unsafe CurlSettings(easy: easy)
        if let lines { settings.set(CCURL_LIST_RESOLVE, lines) }
        settings.set(CCURL_LONG_CONNECTTIMEOUT_MS, connectTimeout.milliseconds)
        return settings.areAccepted
    }

    private func reset() {
        guard needsReset else { return needsReset = true }
        unsafe ccurl_easy_reset(easy)
        profile = nil
        message = nil
        socketOwner = nil
    }

    /// Forgets the transfer; connections and resolved names stay with the multi handle.
    ///
    /// - Parameter isOrdinary: Whether the transfer went as most do, so that the next one like it needs no other settings.
    func release(isOrdinary: Bool) {
        // What is sent next sets its own header lines and body; a large copy of one is not worth keeping.
        if !isOrdinary || transfer?.request.body.isLarge ?? true { reset() }
        transfer = nil
        socket = nil
    }
}

// A transfer that runs, and one that is over until ``CurlHandle/reset()``.
extension CurlHandle {
    /// The words of the last error; empty if libcurl had none.
    var errorText: String { unsafe String(cString: words) }

    /// Something that libcurl counts or measures.
    func number(_ info: ccurl_info) -> Int { Int(unsafe ccurl_easy_info(easy, info)) }

    /// How long it took until requests could be sent, in microseconds; 0 if they can't yet.
    func connectedTime(isSecure: Bool) -> Int {
        number(isSecure ? CCURL_INFO_APPCONNECT_TIME_T : CCURL_INFO_CONNECT_TIME_T)
    }

    /// The address that the transfer's connection goes to.
    var peerAddress: String? {
        guard let address = unsafe ccurl_easy_peer_address(easy).map({ unsafe String(cString: $0) }) else { return nil }
        return address.isEmpty ? nil : address
    }

    /// Has the sockets of the transfer's connections made and closed by someone who lives as long as they do; false if libcurl refused.
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

    /// Adds the transfer to those that are driven; false if libcurl refused.
    func join(_ multi: OpaquePointer) -> Bool {
        unsafe ccurl_multi_add(multi, easy) == Int32(CCURL_OK)
    }

    /// Takes the transfer out of those that are driven, wherever it stands.
    func leave(_ multi: OpaquePointer) {
        _ = unsafe ccurl_multi_remove(multi, easy)
    }

    /// Lets libcurl wait in these directions and go on in the others.
    ///
    /// libcurl may at once offer octets that it kept.
    ///
    /// - Returns: libcurl's result; if it is not 0 the transfer must be ended.
    func hold(_ directions: Directions) -> Int32 {
        unsafe ccurl_easy_pause(easy, Int32(directions.rawValue))
    }

    /// The handle that libcurl was given as a context.
    static func behind(_ context: UnsafeMutableRawPointer?) -> CurlHandle? {
        unsafe context.map { unsafe Unmanaged<CurlHandle>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The owner of a handle that libcurl reports.
    static func of(_ easy: OpaquePointer) -> CurlHandle? {
        unsafe behind(ccurl_easy_context(easy))
    }
}
