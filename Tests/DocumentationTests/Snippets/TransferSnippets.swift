import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

/// The samples about downloads and uploads.
@Suite("Transfer samples", .limitedConcurrency)
struct TransferSnippets {
    private func withPlaces(_ test: (LoopbackServer, URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sample-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withLoopbackServer { server async throws in
            server.on(.get, "/archive.zip", .text("all of it", headers: ["ETag": "\"1\""]))
            server.onAnyMethod("/inbox") { request in .text("\(request.body.count)") }
            try await test(server, folder.appending(path: "archive.zip"))
        }
    }

    @Test("Downloads a file")
    func downloading() async throws {
        try await withPlaces { server, archive in
            let url = server.url(for: "/archive.zip")

            let client = NetworkClient(interceptors: [Retry.Policy.maxRetries(5)])
            let download = client.download(
                url,
                to: archive,
                options: DownloadOptions(existing: .replace)
            )
            for await progress in download.progress {
                print(progress.completedBytes, progress.totalBytes ?? 0)
            }
            let file = try await download.value

            #expect(file.length == 9)
            #expect(try Data(contentsOf: archive) == Data("all of it".utf8))
        }
    }

    @Test("Resumes a download from another URL")
    func resuming() async throws {
        try await withPlaces { server, archive in
            let otherURL = server.url(for: "/archive.zip?signature=2")
            let client = NetworkClient()
            let download = client.download(server.url(for: "/archive.zip"), to: archive)
            _ = try await download.value

            if let left = await download.cancel() {
                let again = client.download(
                    otherURL,
                    to: archive,
                    options: DownloadOptions(resumeData: left)
                )
                print(try await again.value.url)
            }
            #expect(await download.cancel() == nil, "a complete download has no resume data")
        }
    }

    @Test("Uploads a file and a form")
    func uploading() async throws {
        try await withPlaces { server, archive in
            let url = server.url(for: "/inbox")
            try Data("all of it".utf8).write(to: archive)
            let client = NetworkClient()
            do {
                let upload = client.upload(try .file(archive), to: url, method: .put)
                let response = try await upload.value
                #expect(response.body == Data("9".utf8))
            }
            do {
                var form = MultipartFormData()
                form.append("2026-11", name: "month")
                try form.append(file: archive, name: "report")
                let upload = client.upload(.multipart(form), to: url)
                #expect(try await upload.value.body == Data("\(form.contentLength ?? 0)".utf8))
            }
        }
    }

    @Test("Downloads and uploads a file (README.md)")
    func readme() async throws {
        try await withPlaces { server, archive in
            let (url, inbox) = (server.url(for: "/archive.zip"), server.url(for: "/inbox"))
            let client = NetworkClient()

            let file = try await client.download(url, to: archive).value
            let response = try await client.upload(.file(file.url), to: inbox).value

            #expect(response.body == Data("9".utf8))
        }
    }
}
