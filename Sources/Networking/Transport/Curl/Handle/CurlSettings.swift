import CCurl

/// The settings of an easy handle, which record whether libcurl accepted all of them.
@safe struct CurlSettings {
    let easy: OpaquePointer
    private(set) var areAccepted = true
    /// The callbacks to set.
    var functions = ccurl_functions()

    init(easy: OpaquePointer) {
        unsafe self.easy = easy
    }

    /// Sets an option that the transfer requires.
    mutating func set(_ option: ccurl_long_option, _ value: Int) {
        check(unsafe ccurl_easy_set_long(easy, option, value))
    }

    /// Sets an option that this libcurl may not have.
    func trySet(_ option: ccurl_long_option, _ value: Int) {
        _ = unsafe ccurl_easy_set_long(easy, option, value)
    }

    /// Sets an option to a string, which libcurl copies.
    mutating func set(_ option: ccurl_string_option, _ value: String?) {
        check(unsafe ccurl_easy_set_string(easy, option, value))
    }

    /// Sets an option to a list of lines, which must outlive the transfer.
    mutating func set(_ option: ccurl_list_option, _ lines: CurlLines?) {
        check(unsafe ccurl_easy_set_list(easy, option, lines?.head))
    }

    mutating func check(_ code: Int32) {
        if code != Int32(CCURL_OK) { areAccepted = false }
    }
}

extension Duration {
    /// The duration in whole milliseconds, rounded up and limited to 1…2³¹−1.
    var milliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < 2_000_000 else { return Int(Int32.max) }
        guard seconds >= 0, attoseconds >= 0 else { return 1 }
        return max(1, Int(clamping: seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
    }
}
