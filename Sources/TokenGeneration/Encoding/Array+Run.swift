internal import OpenSSLCrypto

extension [UInt8] {
    /// Returns a Boolean value that indicates whether a text occurs anywhere in the bytes.
    ///
    /// `String.contains` compares characters, which costs quadratic time for a run of combining
    /// ones.
    func containsRun(of text: String) -> Bool {
        let run = Array(text.utf8)
        guard let first = run.first else { return true }
        var next = 0
        while let start = span.firstOffset(of: first, from: next), start <= count - run.count {
            if self[start...].starts(with: run) { return true }
            next = start + 1
        }
        return false
    }
}
