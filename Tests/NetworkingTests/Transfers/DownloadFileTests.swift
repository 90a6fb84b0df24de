import Foundation
import Glibc
import MockNetworking
import Networking
import TestSupport
import Testing

/// Tests of a download's files.
@Suite("Files of downloads", .limitedConcurrency)
struct DownloadFileTests {
    @Test("Fails before sending anything if the file exists")
    func existing() async throws {
        try await DownloadBench.with { bench async throws in
            try Data("old".utf8).write(to: bench.target)
            let error = await failure { _ = try await bench.client().download(bench.url, to: bench.target).value }
            #expect(error?.code == .fileExists)
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
            let error = await failure { _ = try await bench.client().download(bench.url, to: bench.target).value }
            #expect(error?.code == .fileExists)
            #expect(try Data(contentsOf: bench.target) == Data("new".utf8))
            bench.resource.change { $0.lie = nil }
            let options = DownloadOptions(existing: .replace)
            let file = try await bench.client().download(bench.url, to: bench.target, options: options).value
            // Requests the last byte again, so that the server confirms that nothing has changed.
            #expect(bench.resource.ranges == [nil, "bytes=299999-"])
            #expect(file.resumedFrom == 299_999)
            #expect(try Data(contentsOf: bench.target) == bench.resource.content)
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
            _ = try await bench.client().download(bench.url, to: bench.target, options: options).value
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
            _ = try await bench.client().download(bench.url, to: bench.target, options: options).value
            #expect(try Data(contentsOf: other) == Data("old".utf8))
            #expect(try Data(contentsOf: bench.target).count == 300_000)

            let folder = bench.folder.appending(path: "folder")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            // Instead of a device, which only some users can create.
            let pipe = bench.folder.appending(path: "pipe")
            #expect(unsafe mkfifo(pipe.path, 0o600) == 0)
            for target in [folder, pipe] {
                let error = await failure {
                    _ = try await bench.client().download(bench.url, to: target, options: options).value
                }
                #expect(error?.code == .fileExists)
            }
            #expect(bench.server.requestCount == 1)
        }
    }

    @Test("Finds another name if the first ones are taken")
    func unique() async throws {
        try await DownloadBench.with(Data("x".utf8)) { bench async throws in
            let options = DownloadOptions(existing: .unique)
            for name in ["target.bin", "target (1).bin", "target (2).bin"] {
                let file = try await bench.client().download(bench.url, to: bench.target, options: options).value
                #expect(file.url.lastPathComponent == name)
            }
            #expect(bench.names == ["target (1).bin", "target (2).bin", "target.bin"])
        }
    }

    @Test("Uses the name that the server suggests, made safe")
    func suggested() async throws {
        try await DownloadBench.with(Data("x".utf8)) { bench async throws in
            bench.resource.change { $0.headers["Content-Disposition"] = "attachment; filename=\"../../report.pdf\"" }
            let file = try await bench.client().download(bench.url, to: .folder(bench.folder)).value
            #expect(file.url.path == bench.folder.appending(path: "report.pdf").path)
            bench.resource.change { $0.headers = [:] }
            let plain = try await bench.client().download(bench.url, to: .folder(bench.folder)).value
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
            let error = await failure { _ = try await bench.client().download(bench.url, to: bench.target).value }
            #expect(error?.code == .transferInProgress)
            gate.open()
            #expect(try await first.value.length == 300_000)
            #expect(bench.server.requestCount == 1)
        }
    }

    enum Plant: CaseIterable { case link, open, second, folder }

    @Test(
        "Doesn't use a part or record that another user could have created",
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
            let file = try await bench.client().download(bench.url, to: bench.target).value
            #expect(bench.resource.ranges == [nil, nil])
            #expect(file.resumedFrom == 0)
            #expect(try Data(contentsOf: bench.target) == bench.resource.content)
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
            _ = try await bench.client().download(bench.url, to: bench.target).value
            #expect(bench.resource.ranges == [nil, damage == .otherBoot ? "bytes=1000-" : nil])
            #expect(try Data(contentsOf: bench.target) == bench.resource.content)
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
            let error = await failure { _ = try await bench.client().download(bench.url, to: bench.target).value }
            #expect(error?.code == .fileExists)
            #expect(bench.names == ["target.bin"])
        }
    }
}
