import Backend
import Foundation
import Networking
import NetworkingSQLite

/// Loads photos: at most four at a time, and each from the cache on disk while it is fresh.
struct PhotoLoader: Sendable {
    private let network: any NetworkingComponent

    init(at url: URL, cache: URL) {
        network = URLSession.shared
            .timeout(.seconds(60))
            .throttled(max: 4)
            .retry()
            .deduplicated()
            .cached(in: StackedCacheStore(over: SQLiteCacheStore(file: cache)))
            .server(headerField: .accept, "image/jpeg")
            .server(baseURL: url)
    }

    func photo(_ number: Int) async throws -> Data {
        try await network.request(.get("photos/\(number)"), as: Data.self)
    }
}

/// The photos of a grid: loads the visible ones, and cancels the requests for photos that were scrolled away.
actor Gallery {
    private let loader: PhotoLoader
    private var loads: [Int: Task<Data, any Error>] = [:]

    init(loader: PhotoLoader) {
        self.loader = loader
    }

    /// Shows the photos of a range, as a grid does after each scroll.
    func show(_ visible: Range<Int>) {
        for (number, load) in loads where !visible.contains(number) {
            load.cancel()
            loads[number] = nil
        }
        for number in visible where loads[number] == nil {
            loads[number] = Task { [loader] in try await loader.photo(number) }
        }
    }

    /// Returns the visible photos when all of them have arrived.
    func photos() async throws -> [Int: Data] {
        var photos: [Int: Data] = [:]
        for (number, load) in loads {
            photos[number] = try await load.value
        }
        return photos
    }
}

@main
enum Example {
    static func main() async {
        let service = PhotoService()
        await withBackend(service) { server in
            try await withTemporaryDirectory { directory in
                let cache = directory.appending(path: "photos.sqlite")
                let gallery = Gallery(loader: PhotoLoader(at: server.url, cache: cache))

                await gallery.show(0..<12)
                let first = try await gallery.photos()
                print("\(first.count) photos, at most \(server.peakActiveRequests) at the same time")
                expect(first.allSatisfy { $0.value == PhotoService.photo($0.key) }, "each number has its photo")
                expect(server.peakActiveRequests <= 4, "at most four requests are in flight")

                // These photos take half a minute, and are scrolled away before they arrive.
                await gallery.show(100..<120)
                try await service.waitForFourSlowRequests()
                let start = ContinuousClock.now
                await gallery.show(12..<24)
                let second = try await gallery.photos()
                let duration = start.duration(to: .now)
                print("Scrolled past 20 slow photos, of which \(service.slowRequestCount) were requested")
                expect(second.count == 12 && duration < .seconds(10), "cancelled requests make room for others")
                expect(service.slowRequestCount < 20, "requests that are cancelled in the queue are not sent")

                // As after a restart of the app: the memory is empty, and the file is there.
                let count = server.requests.count
                let relaunched = Gallery(loader: PhotoLoader(at: server.url, cache: cache))
                await relaunched.show(0..<24)
                let cached = try await relaunched.photos()
                print("\(cached.count) photos from the disk, with \(server.requests.count - count) requests")
                expect(cached.count == 24 && server.requests.count == count, "fresh photos are not fetched again")
            }
        }
    }
}
