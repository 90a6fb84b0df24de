import CCurl

/// The settings of an easy handle that is being prepared; it collects whether libcurl took every one.
@safe struct CurlSettings {
    private let easy: OpaquePointer
    private(set) var areAccepted = true
    /// Whether this libcurl calls before each request (7.80).
    var canAskBeforeRequests = false

    init(easy: OpaquePointer) {
        unsafe self.easy = easy
    }

    /// Sets an option; libcurl not taking it makes the transfer impossible.
    mutating func set(_ option: ccurl_long_option, _ value: Int) {
        check(unsafe ccurl_easy_set_long(easy, option, value))
    }

    /// Sets an option that this libcurl may lack.
    func trySet(_ option: ccurl_long_option, _ value: Int) {
        _ = unsafe ccurl_easy_set_long(easy, option, value)
    }

    /// Sets an option to a text, which libcurl copies.
    mutating func set(_ option: ccurl_string_option, _ value: String) {
        check(unsafe ccurl_easy_set_string(easy, option, value))
    }

    /// Sets an option to lines, which must outlive the transfer.
    mutating func set(_ option: ccurl_list_option, _ lines: CurlLines?) {
        check(unsafe ccurl_easy_set_list(easy, option, lines?.head))
    }

    /// Sets something else of the handle; the closure returns libcurl's result.
    mutating func set(with body: (OpaquePointer) -> Int32) {
        check(unsafe body(easy))
    }

    mutating func check(_ code: Int32) {
        if code != Int32(CCURL_OK) { refuse() }
    }

    mutating func refuse() {
        areAccepted = false
    }
}

extension Duration {
    /// Whole milliseconds, rounded up, 1…2³¹−1.
    var milliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < 2_000_000 else { return Int(Int32.max) }
        guard seconds >= 0, attoseconds >= 0 else { return 1 }
        return max(1, Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
    }
}
