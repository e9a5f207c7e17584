extension String {
    /// Returns the media type of a file name's extension; `application/octet-stream` if it is unknown.
    ///
    /// The table is part of the library, so that the result is the same on every platform.
    package static func mediaType(forFileName name: String) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return octetStream }
        let fileExtension = name[name.index(after: dot)...].lowercased()
        return mediaTypes[fileExtension] ?? octetStream
    }

    private static let octetStream = "application/octet-stream"

    /// Media types of IANA's registry, and the usual types of formats that are not registered.
    private static let mediaTypes = [
        "7z": "application/x-7z-compressed", "aac": "audio/aac", "aif": "audio/aiff", "aiff": "audio/aiff",
        "apng": "image/apng", "avi": "video/x-msvideo", "avif": "image/avif", "bin": octetStream, "bmp": "image/bmp",
        "bz2": "application/x-bzip2", "css": "text/css", "csv": "text/csv",
        "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "eml": "message/rfc822", "epub": "application/epub+zip", "flac": "audio/flac",
        "geojson": "application/geo+json", "gif": "image/gif", "gpx": "application/gpx+xml", "gz": "application/gzip",
        "heic": "image/heic", "heif": "image/heif", "htm": "text/html", "html": "text/html", "ics": "text/calendar",
        "ico": "image/vnd.microsoft.icon", "jp2": "image/jp2", "jpeg": "image/jpeg", "jpg": "image/jpeg",
        "js": "text/javascript", "json": "application/json", "jsonl": "application/jsonl", "jxl": "image/jxl",
        "key": "application/vnd.apple.keynote", "log": "text/plain", "m4a": "audio/mp4", "m4v": "video/x-m4v",
        "markdown": "text/markdown", "md": "text/markdown", "mid": "audio/midi", "mjs": "text/javascript",
        "mkv": "video/matroska", "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4",
        "mpeg": "video/mpeg", "mpg": "video/mpeg", "ndjson": "application/x-ndjson",
        "numbers": "application/vnd.apple.numbers", "odp": "application/vnd.oasis.opendocument.presentation",
        "ods": "application/vnd.oasis.opendocument.spreadsheet", "odt": "application/vnd.oasis.opendocument.text",
        "oga": "audio/ogg", "ogg": "audio/ogg", "ogv": "video/ogg", "opus": "audio/ogg", "otf": "font/otf",
        "pages": "application/vnd.apple.pages", "pdf": "application/pdf", "pkpass": "application/vnd.apple.pkpass",
        "plist": "application/x-plist", "png": "image/png", "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "rar": "application/vnd.rar", "rtf": "application/rtf", "svg": "image/svg+xml", "tar": "application/x-tar",
        "tif": "image/tiff", "tiff": "image/tiff", "toml": "application/toml", "tsv": "text/tab-separated-values",
        "ttf": "font/ttf", "txt": "text/plain", "usdz": "model/vnd.usdz+zip", "vcf": "text/vcard",
        "wasm": "application/wasm", "wav": "audio/wav", "weba": "audio/webm", "webm": "video/webm",
        "webp": "image/webp", "woff": "font/woff", "woff2": "font/woff2", "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xml": "application/xml",
        "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip",
        "zst": "application/zstd",
    ]
}
