import CCurl

/// An easy handle, used for one transfer after another on the engine's thread.
///
/// The handle and the buffer for its error's words are freed with this object; the header lines when the next
/// transfer begins or this one is over.
@safe final class CurlHandle {
    private let easy: OpaquePointer
    private let words: UnsafeMutablePointer<CChar>
    private var lines: OpaquePointer?

    init?() {
        guard let easy = unsafe ccurl_easy_init() else { return nil }
        unsafe self.easy = easy
        unsafe words = .allocate(capacity: CCURL_ERROR_SIZE)
        unsafe words.initialize(repeating: 0, count: CCURL_ERROR_SIZE)
    }

    deinit {
        unsafe ccurl_easy_cleanup(easy)
        unsafe ccurl_list_free(lines)
        unsafe words.deallocate()
    }

    /// The words of the last error; empty if libcurl had none.
    var errorText: String { unsafe String(cString: words) }

    /// Adds the transfer to those that are driven; false if libcurl refused.
    func join(_ multi: OpaquePointer) -> Bool {
        unsafe ccurl_multi_add(multi, easy) == Int32(CCURL_OK)
    }

    /// Takes the transfer out of those that are driven, wherever it stands.
    func leave(_ multi: OpaquePointer) {
        _ = unsafe ccurl_multi_remove(multi, easy)
    }

    /// Forgets the transfer; connections and resolved names stay with the multi handle.
    func reset() {
        unsafe ccurl_easy_reset(easy)
        unsafe ccurl_list_free(lines)
        unsafe lines = nil
    }

    /// Sets up everything for a transfer, which must outlive it; false if libcurl refused something.
    func prepare(for transfer: CurlTransfer, configuration: CurlTransport.Configuration) -> Bool {
        let request = transfer.exchange.request
        unsafe words[0] = 0
        var settings = unsafe CurlSettings(easy: easy)
        settings.setConnection(origin: request.origin, configuration: configuration)
        settings.setRequest(request)
        setHeaders(&settings, request.headerLines)
        unsafe settings.set { unsafe ccurl_easy_set_error_buffer($0, words) }
        settings.setFunctions(of: transfer)
        if request.hasBody { settings.setBody(request, transfer) }
        return settings.areAccepted
    }

    private func setHeaders(_ settings: inout CurlSettings, _ headerLines: [String]) {
        for line in headerLines {
            guard let longer = unsafe ccurl_list_append(lines, line) else { return settings.refuse() }
            unsafe lines = longer
        }
        if let lines = unsafe lines { unsafe settings.set { unsafe ccurl_easy_set_headers($0, lines) } }
    }
}
