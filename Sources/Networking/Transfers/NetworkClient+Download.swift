public import Foundation
import FoundationNetworking

extension NetworkClient {
    /// Downloads a URL to a file.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - file: The file. Its folder must exist.
    ///   - options: The options of the download.
    /// - Returns: The download, which has begun.
    public func download(_ url: URL, to file: URL, options: DownloadOptions = DownloadOptions()) -> Download {
        download(url, to: .file(file), options: options)
    }

    /// Downloads a URL to a file.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - target: The file, or a folder for a file with the name that the server suggests.
    ///   - options: The options of the download.
    /// - Returns: The download, which has begun.
    public func download(
        _ url: URL,
        to target: DownloadTarget,
        options: DownloadOptions = DownloadOptions()
    ) -> Download {
        download(Resource { URLRequest(url: url) }, to: target, options: options)
    }

    /// Downloads a resource to a file.
    ///
    /// - Parameters:
    ///   - resource: The resource to fetch, such as `Resource(endpoint)`. The download's options
    ///     replace its own. A `timeoutInterval` of 60 seconds, the default of `URLRequest`, is
    ///     ignored.
    ///   - target: The file, or a folder for a file with the name that the server suggests.
    ///   - options: The options of the download.
    /// - Returns: The download, which has begun.
    public func download(
        _ resource: Resource,
        to target: DownloadTarget,
        options: DownloadOptions = DownloadOptions()
    ) -> Download {
        let remains = DownloadResumeState()
        let core = TransferCore<DownloadedFile>(client: self) { core in
            try await DownloadRun(
                client: self,
                resource: resource,
                target: target,
                options: options,
                core: core,
                remains: remains
            ).run()
        }
        let download = Download(core: core, remains: remains)
        core.start(download)
        return download
    }
}
