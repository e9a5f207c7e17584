#if URLSession && AsyncHTTPClient && os(Linux)
import Foundation
import Networking
import NetworkingAsyncHTTPClient
import Synchronization

/// Downloads a URL to a file, or uploads a file to a URL, and prints its progress, for tests that kill it, limit it or
/// measure it.
///
/// It also ends with its standard input.
///
/// Arguments: the transport, the URL and the file, then optionally the maximum number of bytes of a file. With `quiet`
/// in place of that number, it prints only the result. With `upload`, it uploads the file with a resumable upload. Each
/// line of its output is one of these:
///
/// - `arrived 65536`: the number of bytes that the transport has delivered in this exchange, written or not
/// - `kept 65536`: the number of bytes in the file, from its start
/// - `sent 65536`: the number of bytes of the file that are sent
/// - `passed 65536`: the number of bytes of all requests that the transport has taken, sent again or not
/// - `done 67108864 65536`: the total number of bytes, and how many of them existed before; for an upload, the status in
///   place of the second number
/// - `failed storage …`: the kind and the description of the error
/// - `peak 12345678`: the peak memory of the process, in bytes
@main
enum Downloader {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 4, let url = URL(string: arguments[2]) else {
            fatalError(
                "usage: Downloader URLSession|AsyncHTTPClient <url> <file> [quiet|upload|<maximum bytes of a file>]"
            )
        }
        endWithParent()
        if arguments.count > 4, let maximum = rlim_t(arguments[4]) {
            limitFiles(to: maximum)
        }
        let isQuiet = arguments.last == "quiet"
        let isUpload = arguments.last == "upload"
        let file = URL(fileURLWithPath: arguments[3])
        let isOver: Bool
        if arguments[1] == "URLSession" {
            let transport = URLSessionTransport(configuration: .ephemeral)
            isOver =
                isUpload
                ? await upload(file, to: url, over: transport)
                : await download(url, to: file, over: transport, isQuiet)
        } else {
            let transport = AsyncHTTPClientTransport()
            isOver =
                isUpload
                ? await upload(file, to: url, over: transport)
                : await download(url, to: file, over: transport, isQuiet)
            try await transport.shutdown()
        }
        printLine("peak \(peakMemory())")
        exit(isOver ? 0 : 1)
    }

    /// Ends this process when its standard input ends, which happens when the process of the tests ends.
    private static func endWithParent() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            exit(1)
        }
    }

    private static func download(
        _ url: URL,
        to file: URL,
        over transport: some NetworkingComponent,
        _ isQuiet: Bool
    ) async -> Bool {
        do {
            let request = HTTPRequestData(url: url)
            let downloaded =
                isQuiet
                ? try await transport.download(request, to: file)
                : try await transport.modified(ArrivalReporter())
                    .download(request, to: file) { printLine("kept \($0.received.count)") }
            printLine("done \(downloaded.byteCount) \(downloaded.resumedByteCount)")
            return true
        } catch let error as NetworkingError {
            printLine("failed \(error.kind) \(error)")
        } catch {
            printLine("failed unknown \(error)")
        }
        return false
    }

    private static func upload(_ file: URL, to url: URL, over transport: some NetworkingComponent) async -> Bool {
        do {
            let sent = Mutex(Int64(0))
            let request = HTTPRequestData(method: .post, url: url)
            let network = transport.modified(SendReporter())
            let response = try await network.upload(.file(file), to: request, resumable: .automatic) { progress in
                // A line for each MiB, so that the output of a large upload stays small.
                let isDue = sent.withLock { sent in
                    guard progress.sent.count >= sent + (1 << 20) else { return false }
                    sent = progress.sent.count
                    return true
                }
                if isDue { printLine("sent \(progress.sent.count)") }
            }
            let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int ?? 0
            printLine("done \(size) \(response.status.code)")
            return true
        } catch let error as NetworkingError {
            printLine("failed \(error.kind) \(error)")
        } catch {
            printLine("failed unknown \(error)")
        }
        return false
    }

    /// Makes writes beyond a length fail, as on a full disk.
    private static func limitFiles(to maximum: rlim_t) {
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit(rlim_cur: maximum, rlim_max: maximum)
        guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else {
            fatalError("The limit on files could not be set.")
        }
    }

    /// Writes a line at once, without a buffer that would be lost with the process.
    fileprivate static func printLine(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }

    private static func peakMemory() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line.flatMap { Int($0.filter(\.isNumber)) } ?? 0) << 10
    }
}

/// Prints the number of bytes from the transport, some of which may not be written yet.
private struct ArrivalReporter: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var request = request
        request.progressHandler = { Downloader.printLine("arrived \($0.received.count)") }
        return try await upstream.send(request)
    }
}
/// Prints the number of bytes that the transport has taken, for each 256 KiB and at the end of a request.
private struct SendReporter: NetworkingModifier {
    private final class Counts: Sendable {
        let total = Mutex(Int64(0))
    }

    private let counts = Counts()

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var request = request
        let last = Mutex((counted: Int64(0), printed: Int64(0)))
        request.addProgressHandler { [counts] progress in
            let count = progress.sent.count
            let (new, isDue) = last.withLock { last in
                defer { last.counted = max(last.counted, count) }
                let isDue = count >= last.printed + (256 << 10) || count == progress.sent.expected
                if isDue { last.printed = count }
                return (max(0, count - last.counted), isDue)
            }
            let total = counts.total.withLock { total in
                total += new
                return total
            }
            if isDue, new > 0 { Downloader.printLine("passed \(total)") }
        }
        return try await upstream.send(request)
    }
}
#else
@main
enum Downloader {
    static func main() {}
}
#endif
