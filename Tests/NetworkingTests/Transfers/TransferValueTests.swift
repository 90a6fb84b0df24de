import Foundation
import Networking
import Testing

@testable import Networking

/// Tests of the value types of transfers.
@Suite("Values of transfers")
struct TransferValueTests {
    @Test(
        "Parses a satisfied byte range",
        arguments: [
            ("bytes 0-0/1", ContentRange(0...0, of: 1)), ("bytes 5-9/*", ContentRange(5...9, of: nil)),
            ("BYTES 5-9/10", ContentRange(5...9, of: 10)),
        ]
    )
    func ranges(text: String, range: ContentRange) {
        #expect(ContentRange(text) == range)
    }

    @Test(
        "Rejects anything but a satisfied byte range",
        arguments: [
            "", "bytes", "bytes */10", "bytes 0-9", "bytes 9-0/10", "bytes 0-10/10", "bytes +0-9/10", "bytes 0-9/+10",
            "bytes -9/10", "bytes 0-/10", "items 0-9/10", "bytes 0-9/10 x", "bytes=0-9/10", "bytes 0-9/10/11",
            "bytes 0-99999999999999999999/*", "bytes 0--9/10", "bytes 0-9/",
        ]
    )
    func wrongRanges(text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test("Accepts only strong validators, and a date only if it is a minute old and without an entity tag")
    func validators() {
        let (earlier, later) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:37 GMT")
        #expect(ResumeValidator(["ETag": "\"a\""])?.value == "\"a\"")
        #expect(ResumeValidator(["ETag": "\"\""])?.value == "\"\"")
        #expect(ResumeValidator(["Last-Modified": earlier, "Date": later])?.value == earlier)
        let none: [HTTPHeaders] = [
            [:], ["ETag": "W/\"a\""], ["ETag": "a"], ["ETag": "\"a"], ["ETag": "\"a\"b\""], ["ETag": "\""],
            ["ETag": "W/\"a\"", "Last-Modified": earlier, "Date": later], ["Last-Modified": earlier],
            ["Last-Modified": earlier, "Date": earlier], ["Last-Modified": "yesterday", "Date": later],
            ["Last-Modified": later, "Date": earlier], ["ETag": "\"a b\""],
        ]
        for headers in none { #expect(ResumeValidator(headers) == nil, "\(headers)") }
    }

    @Test(
        "Reduces a suggested name to that of an ordinary file in the folder",
        arguments: [
            ("report.pdf", "report.pdf"), ("../../etc/passwd", "passwd"), ("C:\\Windows\\a.txt", "a.txt"),
            (".bashrc", "bashrc"), ("..", nil), (".", nil), ("", nil), ("/", nil), ("a/", nil), ("...x", "x"),
            ("a\u{0}b\r\nc", "abc"), ("a\u{202E}fdp.exe", "afdp.exe"), ("  a b  ", "a b"), ("a.txt.", "a.txt"),
            ("~root", "root"), ("naïve 日本.txt", "naïve 日本.txt"), ("\u{200B}\u{FEFF}", nil), (". .", nil),
            ("a\u{2028}b", "ab"), ("-rf", "-rf"), ("con:x", "con:x"),
        ] as [(String, String?)]
    )
    func fileNames(suggestion: String, name: String?) {
        #expect(FileName.sanitized(suggestion) == name)
    }

    @Test("Truncates a long name to 255 bytes, keeping its extension and whole characters")
    func longNames() throws {
        for text in [
            String(repeating: "a", count: 300), String(repeating: "日", count: 300),
            "👩🏽‍💻" + String(repeating: "é", count: 300),
        ] {
            let name = try #require(FileName.sanitized(text + ".tar"))
            #expect(name.utf8.count <= 255 && name.utf8.count > 240)
            #expect(name.hasSuffix(".tar"))
        }
        let zalgo = "a" + String(repeating: "\u{301}", count: 300)
        #expect(FileName.sanitized(zalgo + ".txt") == "_.txt")
    }

    @Test(
        "Finds the name in a Content-Disposition, preferring filename*",
        arguments: [
            ("attachment; filename=\"a.txt\"", "a.txt"), ("attachment; filename=a.txt", "a.txt"),
            ("attachment; filename=\"a \\\"b\\\".txt\"", "a \"b\".txt"),
            ("attachment; filename=\"x\"; filename*=UTF-8''%E2%82%AC.txt", "€.txt"),
            ("attachment; filename*=iso-8859-1'en'%A3.txt; filename=x", "£.txt"),
            ("attachment; filename*=UTF-8''%FF; filename=x", "x"), ("attachment; filename*=utf-16''a; filename=x", "x"),
            ("attachment; filename*=UTF-8''%ZZ; filename=x", "x"), ("attachment", nil), ("", nil), (";", nil),
            ("inline; FILENAME=\"a;b\"", "a;b"),
        ] as [(String, String?)]
    )
    func dispositions(field: String, name: String?) {
        #expect(ContentDisposition.fileName(field) == name)
    }

    @Test("Takes the name from the URL without a suggestion")
    func suggestedFileName() throws {
        func name(_ url: String, _ headers: HTTPHeaders = [:]) throws -> String {
            HTTPResponse(url: try #require(URL(string: url)), status: 200, headers: headers).suggestedFileName
        }
        #expect(try name("https://a.example/b/c.zip?d=e") == "c.zip")
        #expect(try name("https://a.example/b/%2e%2e%2fc") == "c")
        #expect(try name("https://a.example") == "download")
        #expect(try name("https://a.example/b", ["Content-Disposition": "attachment; filename=\"..\""]) == "b")
    }

    @Test("Computes the rate and the remaining time from the last seconds")
    func rate() {
        var rate = TransferRate()
        let start = ContinuousClock.now
        rate.add(0, at: start)
        #expect(rate.bytesPerSecond == nil)
        rate.add(500, at: start + .milliseconds(50))
        #expect(rate.bytesPerSecond == nil)
        for second in 1...30 { rate.add(second * 1000, at: start + .seconds(second)) }
        #expect(rate.bytesPerSecond == 1000)
        for second in 31...60 { rate.add(30_000 + (second - 30) * 10, at: start + .seconds(second)) }
        #expect(rate.bytesPerSecond.map { $0 < 20 } == true)
        rate.add(0, at: start + .seconds(61))
        #expect(rate.bytesPerSecond == nil)

        var progress = TransferProgress(state: .running, completedBytes: 50, totalBytes: 150, bytesPerSecond: 10)
        #expect(progress.estimatedTimeRemaining == .seconds(10))
        progress.bytesPerSecond = 1e-300
        #expect(progress.estimatedTimeRemaining == .seconds(31_536_000))
        progress.totalBytes = nil
        #expect(progress.estimatedTimeRemaining == nil && progress.fractionCompleted == nil)
    }

    @Test("Accepts only a SHA-256 hash in hexadecimal")
    func hexadecimal() async throws {
        let text = String(repeating: "aF", count: 32)
        #expect(try DownloadDigest.sha256(hexadecimal: text) == .sha256(Data(repeating: 0xAF, count: 32)))
        for wrong in [
            "", String(text.dropLast()), text + "00", String(repeating: "g", count: 64),
            String(repeating: "１", count: 64),
        ] {
            #expect(await failure { _ = try DownloadDigest.sha256(hexadecimal: wrong) }?.code == .invalidRequest)
        }
    }
}
