import Foundation
import Glibc
import MockNetworking
import TestSupport
import Testing

@testable import Networking

@Suite("Files of downloads", .limitedConcurrency)
struct DownloadFileTests {
    @Test("Fails before sending anything if the file exists", .shows("4.33"))
    func existing() async throws {
        try await DownloadBench.with { bench async throws in
            try Data("old".utf8).write(to: bench.target)
            await expectFailure(.fileExists) { _ = try await bench.download() }
            #expect(bench.server.requestCount == 0)
            #expect(try Data(contentsOf: bench.target) == Data("old".utf8))
            #expect(bench.names == ["target.bin"])
        }
    }

    @Test("Keeps a file that appears during the download, and the part")
    func appearing() async throws {
        try await DownloadBench.with { bench async throws in
            let target = bench.target
            bench.resource.change { state in
                state.lie = { response, _ in
                    try? Data("new".utf8).write(to: target)
                    return response
                }
            }
            await expectFailure(.fileExists) { _ = try await bench.download() }
            #expect(try Data(contentsOf: bench.target) == Data("new".utf8))
            bench.resource.change { $0.lie = nil }
            let file = try await bench.download(DownloadOptions(existing: .replace))
            // Requests the last byte again, so that the server confirms that nothing has changed.
            #expect(bench.resource.ranges == [nil, "bytes=299999-"])
            #expect(file.resumedFrom == 299_999)
            #expect(try bench.isComplete)
            #expect(bench.names == ["target.bin"])
        }
    }

    @Test("Replaces a file at the end, unless the download fails")
    func replaced() async throws {
        try await DownloadBench.with { bench async throws in
            try Data("old".utf8).write(to: bench.target)
            let options = DownloadOptions(existing: .replace)
            try await bench.interrupt(after: 1000, options: options)
            #expect(try Data(contentsOf: bench.target) == Data("old".utf8))
            _ = try await bench.download(options)
            #expect(try Data(contentsOf: bench.target).count == 300_000)
        }
    }

    @Test("Replaces a symbolic link but not its target, and neither a folder nor a device")
    func links() async throws {
        try await DownloadBench.with { bench async throws in
            let other = bench.folder.appending(path: "other")
            try Data("old".utf8).write(to: other)
            try FileManager.default.createSymbolicLink(at: bench.target, withDestinationURL: other)
            let options = DownloadOptions(existing: .replace)
            _ = try await bench.download(options)
            #expect(try Data(contentsOf: other) == Data("old".utf8))
            #expect(try Data(contentsOf: bench.target).count == 300_000)

            let folder = bench.folder.appending(path: "folder")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            // Instead of a device, which only some users can create.
            let pipe = bench.folder.appending(path: "pipe")
            #expect(unsafe mkfifo(pipe.path, 0o600) == 0)
            for target in [folder, pipe] {
                await expectFailure(.fileExists) {
                    _ = try await bench.client().download(bench.url, to: target, options: options).value
                }
            }
            #expect(bench.server.requestCount == 1)
        }
    }

    @Test("Finds another name if the first ones are taken")
    func unique() async throws {
        try await DownloadBench.with(Data("x".utf8)) { bench async throws in
            let options = DownloadOptions(existing: .unique)
            for name in ["target.bin", "target (1).bin", "target (2).bin"] {
                let file = try await bench.download(options)
                #expect(file.url.lastPathComponent == name)
            }
            #expect(bench.names == ["target (1).bin", "target (2).bin", "target.bin"])
        }
    }

    @Test("Uses the name that the server suggests, made safe", .shows("H16"))
    func suggested() async throws {
        try await DownloadBench.with(Data("x".utf8)) { bench async throws in
            bench.resource.change { $0.headers["Content-Disposition"] = "attachment; filename=\"../../report.pdf\"" }
            let file = try await bench.client().download(bench.url, into: bench.folder).value
            #expect(file.url.path == bench.folder.appending(path: "report.pdf").path)
            bench.resource.change { $0.headers = [:] }
            let plain = try await bench.client().download(bench.url, into: bench.folder).value
            #expect(plain.url.lastPathComponent == "file")
            #expect(bench.names == ["file", "report.pdf"])
        }
    }

    @Test("Fails before sending anything if the folder is missing, not a folder or not writable")
    func unusableFolders() async throws {
        try await DownloadBench.with { bench async throws in
            try Data().write(to: bench.folder.appending(path: "file"))
            let closed = bench.folder.appending(path: "closed")
            try FileManager.default.createDirectory(
                at: closed,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o500]
            )
            var targets = [
                bench.folder.appending(path: "missing/target"): POSIXErrorCode.ENOENT,
                bench.folder.appending(path: "file/target"): .ENOTDIR,
                URL(filePath: "/proc/target"): .ENOENT,
            ]
            // The superuser can write everywhere.
            if geteuid() != 0 { targets[closed.appending(path: "target")] = .EACCES }
            for (target, code) in targets {
                let error = await failure { _ = try await bench.client().download(bench.url, to: target).value }
                #expect(error?.code == .cannotUseFile, "\(target.path)")
                #expect((error?.cause as? POSIXError)?.code == code, "\(target.path)")
                #expect(!FileManager.default.fileExists(atPath: target.path))
            }
            let remote = await failure {
                _ = try await bench.client().download(bench.url, to: URL(string: "https://a.example/b")!).value
            }
            #expect(remote?.code == .invalidRequest)
            #expect(bench.server.requestCount == 0)
        }
    }

    @Test("Rejects a second download of the same URL to the same file")
    func twice() async throws {
        try await DownloadBench.with { bench async throws in
            let gate = ResponseGate()
            bench.resource.change { $0.lie = { response, _ in response.bodyGated(by: gate) } }
            let first = bench.client().download(bench.url, to: bench.target)
            try await gate.waitForWaiters(count: 1)
            await expectFailure(.transferInProgress) { _ = try await bench.download() }
            gate.open()
            #expect(try await first.value.length == 300_000)
            #expect(bench.server.requestCount == 1)
        }
    }

    enum Plant: CaseIterable { case link, open, second, folder }

    @Test(
        "Doesn't use a part or record that another user could have created",
        .shows("Z8"),
        arguments: [Plant.link, .open, .second],
        ["part", "resume"]
    )
    func planted(_ plant: Plant, _ kind: String) async throws {
        try await DownloadBench.with { bench async throws in
            try await bench.interrupt(after: 200_000)
            let name = try #require(bench.names.first { $0.hasSuffix("." + kind) })
            let part = bench.folder.appending(path: name)
            let octets = try Data(contentsOf: part)
            let elsewhere = bench.folder.appending(path: "elsewhere")
            switch plant {
            case .link:
                try FileManager.default.moveItem(at: part, to: elsewhere)
                try FileManager.default.createSymbolicLink(at: part, withDestinationURL: elsewhere)
            case .open:
                try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: part.path)
            case .second: try FileManager.default.linkItem(at: part, to: elsewhere)
            case .folder: break
            }
            let file = try await bench.download()
            #expect(bench.resource.ranges == [nil, nil])
            #expect(file.resumedFrom == 0)
            #expect(try bench.isComplete)
            #expect(bench.names == (plant == .open ? ["target.bin"] : ["elsewhere", "target.bin"]))
            if plant != .open { #expect(try Data(contentsOf: elsewhere) == octets) }
        }
    }

    enum Damage: CaseIterable { case garbage, otherURL, longer, missing, otherBoot }

    @Test("Starts over if the record doesn't match the part", arguments: Damage.allCases)
    func damaged(_ damage: Damage) async throws {
        try await DownloadBench.with { bench async throws in
            try await bench.interrupt(after: 200_000)
            let name = try #require(bench.names.first { $0.hasSuffix(".resume") })
            let record = bench.folder.appending(path: name)
            let text = try String(contentsOf: record, encoding: .utf8)
            func write(_ text: String) throws {
                let file = try FileHandle(forWritingTo: record)
                try file.truncate(atOffset: 0)
                try file.write(contentsOf: Data(text.utf8))
                try file.close()
            }
            switch damage {
            case .garbage: try write(String(text.dropLast(5)))
            case .otherURL: try write(text.replacing(#/"resource":"../#, with: "\"resource\":\"zz"))
            case .longer: try write(text.replacing("\"total\":300000", with: "\"total\":199999"))
            case .missing: try FileManager.default.removeItem(at: record)
            case .otherBoot:
                // The machine crashed, and only the first 1000 bytes were on the disk.
                try write(
                    text.replacing(#/"boot":"[^"]*"/#, with: "\"boot\":\"before\"")
                        .replacing("\"synchronized\":200000", with: "\"synchronized\":1000")
                )
            }
            _ = try await bench.download()
            #expect(bench.resource.ranges == [nil, damage == .otherBoot ? "bytes=1000-" : nil])
            #expect(try bench.isComplete)
            #expect(bench.names == ["target.bin"])
        }
    }

    @Test("Removes the part of a download that was killed while its file had both names")
    func killedWhileNaming() async throws {
        try await DownloadBench.with { bench async throws in
            try await bench.interrupt(after: 200_000)
            let name = try #require(bench.names.first { $0.hasSuffix(".part") })
            let part = bench.folder.appending(path: name)
            try FileManager.default.removeItem(at: part.appendingPathExtension("resume"))
            try FileManager.default.linkItem(at: part, to: bench.target)
            await expectFailure(.fileExists) { _ = try await bench.download() }
            #expect(bench.names == ["target.bin"])
        }
    }
}

@Suite("Values of transfers", .computing)
struct TransferValueTests {
    @Test(
        "Parses a satisfied byte range",
        arguments: [
            ("bytes 0-0/1", ContentRange(range: 0...0, total: 1)),
            ("bytes 5-9/*", ContentRange(range: 5...9, total: nil)),
            ("BYTES 5-9/10", ContentRange(range: 5...9, total: 10)),
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

    @Test(
        "Accepts only strong validators, and a date only if it is a minute old and without an entity tag",
        .shows("RFC 9110 §13, §14")
    )
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
        .shows("H16"),
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
        .shows("RFC 6266, RFC 8187"),
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
            await expectFailure(.invalidRequest) { _ = try DownloadDigest.sha256(hexadecimal: wrong) }
        }
    }
}

@Suite("Part files", .computing)
struct PartFileTests {
    private func record(boot: String) throws -> PartFile.Record {
        let validator = try #require(ResumeValidator(["ETag": "\"a\""]))
        return PartFile.Record(resource: "r", validator: validator, total: 3000, synchronized: 1000, boot: boot)
    }

    @Test("A cancelled task stops computing the digest of a file")
    func cancelledDigest() async throws {
        let path = FileManager.default.temporaryDirectory.path + "/part-\(UUID().uuidString)"
        let part = try PartFile(path: path, name: "a", resource: "r")
        defer { part.remove() }
        try part.append(Data(count: 9))
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try part.digest(by: [.sha256], in: 0..<9)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("Every byte is usable if the machine didn't start again")
    func sameBoot() throws {
        #expect(try record(boot: "b").usableCount(of: 2000, boot: "b") == 2000)
    }

    @Test("Only flushed bytes are usable after another boot, or if the boot is unknown", arguments: ["", "other"])
    func otherBoot(_ boot: String) throws {
        #expect(try record(boot: boot).usableCount(of: 2000, boot: "b") == 1000)
        #expect(try record(boot: "b").usableCount(of: 2000, boot: boot) == 1000)
        #expect(try record(boot: "").usableCount(of: 2000, boot: "") == 1000)
        #expect(try record(boot: boot).usableCount(of: 500, boot: "") == 500)
    }
}
