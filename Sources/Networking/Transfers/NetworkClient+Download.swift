public import Foundation
import FoundationNetworking

extension NetworkClient {
    /// Downloads a URL to a file.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - file: The file, in a folder that is there.
    ///   - options: What it does otherwise than by default.
    /// - Returns: The download, which has begun.
    public func download(_ url: URL, to file: URL, options: DownloadOptions = DownloadOptions()) -> Download {
        download(url, to: .file(file), options: options)
    }

    /// Downloads a URL to a file.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - target: The file, or the folder for a file of the name that the server suggests.
    ///   - options: What it does otherwise than by default.
    /// - Returns: The download, which has begun.
    public func download(
        _ url: URL,
        to target: DownloadTarget,
        options: DownloadOptions = DownloadOptions()
    ) -> Download {
        download(Resource { URLRequest(url: url) }, to: target, options: options)
    }

    /// Downloads what an endpoint answers to a file.
    ///
    /// - Parameters:
    ///   - endpoint: What to call. Its timeout holds for each attempt; without one there is none.
    ///   - file: The file, in a folder that is there.
    ///   - options: What it does otherwise than by default.
    /// - Returns: The download, which has begun.
    public func download(
        _ endpoint: some HTTPEndpoint,
        to file: URL,
        options: DownloadOptions = DownloadOptions()
    ) -> Download {
        download(Resource(endpoint), to: .file(file), options: options)
    }

    /// Downloads what an endpoint answers to a file.
    ///
    /// - Parameters:
    ///   - endpoint: What to call. Its timeout holds for each attempt; without one there is none.
    ///   - target: The file, or the folder for a file of the name that the server suggests.
    ///   - options: What it does otherwise than by default.
    /// - Returns: The download, which has begun.
    public func download(
        _ endpoint: some HTTPEndpoint,
        to target: DownloadTarget,
        options: DownloadOptions = DownloadOptions()
    ) -> Download {
        download(Resource(endpoint), to: target, options: options)
    }

    /// Downloads a resource to a file.
    ///
    /// - Parameters:
    ///   - resource: What to fetch. The options of the download take the place of its own. A request's `timeoutInterval` of 60 seconds, which
    ///     is what a `URLRequest` has by itself, does not count.
    ///   - target: The file, or the folder for a file of the name that the server suggests.
    ///   - options: What it does otherwise than by default.
    /// - Returns: The download, which has begun.
    public func download(
        _ resource: Resource,
        to target: DownloadTarget,
        options: DownloadOptions = DownloadOptions()
    ) -> Download {
        let remains = DownloadResumeState()
        let core = TransferCore<DownloadedFile>(client: self) { monitor in
            let run = DownloadRun(
                client: self,
                resource: resource,
                target: target,
                options: options,
                monitor: monitor,
                remains: remains
            )
            return try await run.run()
        }
        let download = Download(core: core, remains: remains)
        core.start(download)
        return download
    }
}
