/// An archive as another tool might write it: fields that are `null`, absent, of other types, or private.
enum ForeignArchive {
    /// The number of entries with a request.
    static let count = 12

    static let json = """
        {"log": {"version": 1.2, "creator": {"name": "WebInspector", "version": "537.36"}, "browser": null, "comment": null,
        "pages": [{"id": "page_1", "title": "https://www.example.com/", "startedDateTime": "2026-05-14T09:41:03.120Z",
            "pageTimings": {"onContentLoad": 310.5, "onLoad": null}}, null],
        "entries": [
            {"_connectionId": "41", "_initiator": {"type": "parser", "url": "https://www.example.com/", "lineNumber": 12},
             "_priority": "High", "_resourceType": "script", "cache": {}, "connection": "443", "pageref": "page_1",
             "request": {"method": "GET", "url": "https://www.example.com/app.js?v=1", "httpVersion": "h3",
                "headers": [{"name": ":authority", "value": "www.example.com"}, {"name": ":path", "value": "/app.js?v=1"},
                    {"name": "accept", "value": "*/*"}], "queryString": [{"name": "v", "value": "1"}], "cookies": [],
                "headersSize": -1, "bodySize": 0},
             "response": {"status": 200, "statusText": "", "httpVersion": "h3",
                "headers": [{"name": "content-type", "value": "text/javascript"}],
                "cookies": [{"name": "id", "value": "1", "expires": "Session", "sameSite": "Lax"}],
                "content": {"size": 10, "mimeType": "text/javascript", "text": "let a = 1;", "compression": 0},
                "redirectURL": "", "headersSize": -1, "bodySize": -1, "_transferSize": 812, "_error": null},
             "serverIPAddress": "[2001:db8::1]", "startedDateTime": "2026-05-14T09:41:03.121Z", "time": 120.5,
             "timings": {"blocked": 3.2, "dns": 12, "ssl": 28, "connect": 40, "send": 0.4, "wait": 55, "receive": 9.9,
                "_blocked_queueing": 1.1, "_workerStart": -1}},
            {"_fromCache": "disk", "startedDateTime": "2026-05-14T11:41:03.200+02:00", "time": 1, "cache": {},
             "request": {"method": "GET", "url": "https://www.example.com/logo.png", "headers": []},
             "response": {"status": 200, "content": {"size": 4, "mimeType": "image/png", "encoding": "base64", "text": "!!!"}},
             "timings": {"blocked": -1, "send": 0, "wait": 0.2, "receive": 0.8}},
            {"startedDateTime": "2026-05-14T09:41:03.300Z", "time": 0, "request": {"method": "GET", "url": "https://ads.example/"},
             "response": {"status": 0, "statusText": "", "_error": "net::ERR_BLOCKED_BY_CLIENT", "content": {"size": 0, "mimeType": "x-unknown"}},
             "_error": "net::ERR_BLOCKED_BY_CLIENT", "timings": null},
            {"startedDateTime": "2026-05-14T09:41:03.400Z", "time": null, "request": {"method": "GET", "url": "https://a.example/"}, "response": null},
            {"startedDateTime": null, "time": "33.5", "request": {"method": null, "url": 5, "headers": "none", "queryString": {}, "postData": []}},
            {"startedDateTime": "yesterday", "time": -1, "request": {"method": "GET", "url": "/relative"},
             "response": {"status": "404", "statusText": 3, "headers": [null, 4, {"name": "a"}, {"value": "b"}], "content": null}},
            {"startedDateTime": 1778751663120, "time": 1e999, "request": {"method": "POST", "url": "data:text/html,x", "cookies": null,
                "postData": {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a", "value": "1"}, {"name": "b"}]}}},
            {"startedDateTime": "2026-05-14T09:41:03.500Z", "time": 5, "timings": {"blocked": null, "wait": "8", "receive": {}},
             "request": {"method": "GET", "url": "https://a.example/base64"}, "response": {"status": 200,
                "content": {"mimeType": "application/json; charset=utf-8", "encoding": "base64", "text": "eyJhIjpbMSwyLjUwLHsiYiI6bnVsbH1dfQ=="}}},
            {"startedDateTime": "2026-05-14T09:41:03.600Z", "time": 5, "_call": "not ours", "_exchange": 7, "_curl": [],
             "request": {"method": "GET", "url": "https://a.example/call"}, "response": {"status": 200, "content": {"text": 7}}},
            {"startedDateTime": "2026-05-14T09:41:03.700Z", "_webSocketMessages": [{"type": "send", "time": 1, "opcode": 1, "data": "hi"}],
             "request": {"method": "GET", "url": "wss://a.example/socket"}, "response": {"status": 101, "content": {}}, "time": 1e300},
            {"startedDateTime": "0001-01-01T00:00:00Z", "time": 3, "request": {"method": "GET", "url": "https://a.example/early"}},
            {"startedDateTime": "2026-05-14T09:41:03.800Z", "time": 2, "_call": {"id": null, "spans": "none", "marks": [1, null]},
             "request": {"method": "GET", "url": ""}, "response": []},
            {"startedDateTime": "2026-05-14T09:41:03.900Z", "request": null}, null, 7, []
        ]}}
        """
}
